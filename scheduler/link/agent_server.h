// The server's end of agent.proto: reports in, assignments out, logs and artifacts. It decides
// nothing: whoever starts it says what to do with what arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/agent.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

struct LogPiece {
  TaskKey task;
  std::string token;
  std::int64_t offset = 0;
  std::string_view data;
};

struct UploadStart {
  TaskKey task;
  std::string token;
  ArtifactFile file;
  std::int64_t offset = 0;
};

struct ArtifactProgress {
  std::int64_t bytes = 0;  // stored by now
  bool complete = false;   // durable and verified
};

// An upload that was let in. Dropped without `finish`, it can go on later.
struct Upload {
  std::function<Status(std::string_view data)> append;
  // Called after the last piece, also of an upload that broke off.
  std::function<Result<ArtifactProgress>()> finish;
};

// Bytes of a stored file from an offset on; fewer than asked for only at its end.
using ReadArtifact = std::function<Result<std::size_t>(std::int64_t offset, std::span<char> into)>;

// Called on gRPC's threads, several at once. The first three must not block for long.
struct AgentHandlers {
  std::function<void(AgentReport)> report;
  std::function<Result<std::int64_t>(const LogPiece&)> append_log;  // up to where the log is stored
  std::function<Result<ArtifactProgress>(const JobId&, const std::string& sha256)> find_artifact;
  std::function<Result<Upload>(const UploadStart&)> begin_upload;
  std::function<Result<ReadArtifact>(const JobId&, const std::string& sha256)> open_artifact;
};

class AgentServer {
 public:
  // Listens on "host:port"; port 0 takes a free one. `unavailable` where that cannot be.
  static Result<std::unique_ptr<AgentServer>> listen(const std::string& address,
                                                     AgentHandlers handlers);
  ~AgentServer();  // stop()

  [[nodiscard]] std::string address() const;  // with the port that was taken

  // To the agent's stream; of those that could not leave yet only the newest is kept. Dropped when
  // the agent is not connected: its next report is answered anyway. Never blocks.
  void send(const Assignment& assignment);

  // Ends the stream of a start of an agent that is not the one of its name, with the reason.
  void refuse(const Refusal& refusal);

  // Ends all calls; no handler runs after this.
  void stop();

 private:
  struct Parts;
  explicit AgentServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard::scheduler
