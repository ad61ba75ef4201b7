// The calls beside the stream: a task's log and its checkpoint files go to the server, the files of
// a restore come from it. All block; all have a deadline, and `cancel` ends them from another
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

struct LogPiece {
  TaskKey key;
  std::string token;
  std::int64_t offset = 0;
  std::string data;  // at most 1 MiB
};

struct ArtifactUpload {
  TaskKey key;
  std::string token;
  ArtifactFile file;
  std::string path;  // where it lies here
};

struct ArtifactDownload {
  TaskKey key;  // for which it is fetched
  std::string token;
  JobId job;  // whose file it is
  ArtifactFile file;
  std::string path;  // where it shall lie, with all its bytes; appears there whole or not at all
};

// Errors: unavailable = try again later; the server's own refusals (invalid, not_found, conflict)
// are for good. An upload never ends as a conflict: what it met is another when it is tried again.
class ServerCalls {
 public:
  explicit ServerCalls(const std::string& server);
  ~ServerCalls();
  ServerCalls(const ServerCalls&) = delete;
  ServerCalls& operator=(const ServerCalls&) = delete;

  // Appends; the answer is the offset up to which the server has the log by now.
  Result<std::int64_t> append_log(const LogPiece& piece);

  // Sends what the server does not have yet of the file. ok: it is durable there and its sha256 is
  // right.
  Status upload(const ArtifactUpload& upload);

  // Fetches the file, going on from where an earlier try ended, and checks its sha256. A file that
  // already lies there with the right bytes is left alone.
  Status download(const ArtifactDownload& download);

  // Ends the calls that run and those to come with `unavailable`.
  void cancel();

 private:
  class Calls;
  std::unique_ptr<Calls> calls_;
};

}  // namespace trainyard::agent
