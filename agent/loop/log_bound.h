// A task's log is bounded on its own host's disk, however much the task prints: beyond the bound
// the file's head and its newest bytes stay, and what is between becomes a hole that takes no room.
// The offsets of what stays are the same, and the task writes on as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "schemas/base/result.h"

namespace trainyard::agent {

inline constexpr std::int64_t log_bytes_max_default = std::int64_t{256} << 20;
inline constexpr std::int64_t log_bytes_max_lowest = std::int64_t{1} << 20;

// What was cut out of a log: what is shipped goes on behind it once the task has ended.
struct LogCut {
  std::int64_t begin = 0;  // never changes
  std::int64_t end = 0;    // grows with the log; 0 = nothing was cut
};

struct LogOnDisk {
  std::string path;
  std::int64_t bytes_max = log_bytes_max_default;
  std::int64_t shipped =
      0;            // bytes from the start that the server has; some more may be on their way
  LogCut cut = {};  // so far
};

// How far a log has come, written down beside it: an agent that starts anew goes on from there.
struct LogProgress {
  std::int64_t shipped = 0;  // perhaps less than the server has
  LogCut cut;
};
LogProgress written_progress(const std::string& log);  // nothing where none was written
Status write_progress(const std::string& log, const LogProgress& progress);

// Frees what is beyond the bound. The cut as it is then, which is written down before it is made.
Result<LogCut> bound_log(const LogOnDisk& log);

struct LogSpan {
  std::int64_t offset = 0;  // in what is shipped
  std::size_t bytes_max = 0;
  bool ended = false;  // the task: nothing is written and nothing is cut any more
};
// The next bytes to ship: the log up to the cut; when the task has ended, a line that says what was
// cut, and the rest.
Result<std::string> read_log(const std::string& path, const LogCut& cut, const LogSpan& piece);

}  // namespace trainyard::agent
