// What the agents' calls do: reports go to the loop, logs and artifacts to their files once the
// token is right.
#pragma once

#include "scheduler/link/agent_server.h"
#include "scheduler/loop/loop.h"
#include "scheduler/loop/tokens.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"

namespace trainyard::scheduler {

class AgentDesk {
 public:
  AgentDesk(Loop& loop, Tokens& tokens, Artifacts& artifacts, Logs& logs)
      : loop_(loop), tokens_(tokens), artifacts_(artifacts), logs_(logs) {}

  // For AgentServer, which must not outlive this.
  AgentHandlers handlers();

 private:
  Result<ArtifactProgress> find(const JobId& job, const std::string& sha256);
  Result<Upload> begin_upload(const UploadStart& start);
  // The core learns of a file that is whole; `unavailable` when it cannot be told now.
  Status announce(const JobId& job, const std::string& sha256);

  Loop& loop_;
  Tokens& tokens_;
  Artifacts& artifacts_;
  Logs& logs_;
};

}  // namespace trainyard::scheduler
