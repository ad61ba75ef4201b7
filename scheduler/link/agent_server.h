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
#include "schemas/base/time.h"
#include "schemas/types/agent.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

struct LogPiece {
  TaskKey task;
  std::int64_t offset = 0;
  std::string_view data;
};

struct UploadStart {
  TaskKey task;
  ArtifactFile file;
  std::int64_t offset = 0;
};

struct ArtifactWish {
  TaskKey by;
  JobId job;
  std::string sha256;
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

// A report that passed every check.
struct ArrivedReport {
  AgentReport report;
  std::string peer;             // the address it came from, without the port
  std::int64_t bytes = 0;       // on the wire
  std::shared_ptr<void> taken;  // the stream's next report is read once this is let go
};

// Called on gRPC's threads, several at once. None but begin_upload, and what it gives, may block
// for long. Of a task only where its token is right and it was admitted, both asked before a
// message is read.
struct AgentCallbacks {
  std::function<void(ArrivedReport)> report;
  std::function<bool(const TaskKey&, const std::string& token)> is_token_of;
  std::function<Status(const TaskKey&)> admit;
  std::function<Result<std::int64_t>(const LogPiece&)> append_log;  // up to where the log is stored
  std::function<Result<ArtifactProgress>(const JobId&, const std::string& sha256)> find_artifact;
  std::function<Result<Upload>(const UploadStart&)> begin_upload;
  std::function<Result<ReadArtifact>(const ArtifactWish&)> open_artifact;
};

struct AgentServerOptions {
  std::string address;        // "host:port"; port 0 takes a free one
  Millis idle_limit{60'000};  // how long a call may bring nothing and take nothing
};

class AgentServer {
 public:
  // `unavailable` where it cannot listen.
  static Result<std::unique_ptr<AgentServer>> listen(const AgentServerOptions& options,
                                                     AgentCallbacks callbacks);
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
