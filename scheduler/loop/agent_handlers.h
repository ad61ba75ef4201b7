// What the agents' calls do: reports go to the loop, logs and artifacts to their files where the
// task may bring them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "scheduler/core/registrations.h"
#include "scheduler/link/agent_server.h"
#include "scheduler/loop/loop.h"
#include "scheduler/loop/task_rights.h"
#include "scheduler/loop/uploads.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"

namespace trainyard::scheduler {

class AgentHandlers {
 public:
  AgentHandlers(Loop& loop, TaskRights& rights, Artifacts& artifacts, Logs& logs,
                const RegistrationLimits& limits)
      : loop_(loop),
        rights_(rights),
        artifacts_(artifacts),
        uploads_(artifacts),
        logs_(logs),
        registrations_(limits) {}

  // For AgentServer, which must not outlive this.
  AgentCallbacks callbacks();

 private:
  // A report on its way to the loop. Its place, and its stream's next turn, are given back when it
  // is gone.
  struct Waiting {
    Event event;
    std::string peer;
    std::shared_ptr<void> place;
    std::shared_ptr<void> taken;
  };
  void take_in(ArrivedReport arrived);
  std::shared_ptr<void> take_place(std::int64_t bytes);  // null: too much waits
  void deliver(Loop& loop, const Waiting& waiting);      // on the loop's thread

  Result<ArtifactProgress> find(const JobId& job, const std::string& sha256);
  Result<ReadArtifact> open(const ArtifactWish& wish);
  // The core learns of a file that is gone or damaged.
  Error lost(const ArtifactWish& wish, Error error);
  Result<Upload> begin_upload(const UploadStart& start);
  // The core learns of a file that is whole; `unavailable` when it cannot be told now.
  Status announce(const JobId& job, const std::string& sha256);

  Loop& loop_;
  TaskRights& rights_;
  Artifacts& artifacts_;
  Uploads uploads_;
  Logs& logs_;
  std::atomic<std::int64_t> waiting_bytes_ = 0;  // of reports that the loop has not taken yet
  Registrations registrations_;                  // of the loop's thread
};

}  // namespace trainyard::scheduler
