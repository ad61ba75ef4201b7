// What tasks print, kept per task attempt: <folder>/<job>/<attempt>/<role>-<index>.log. Pieces may
// come twice, late or again after a restart; the file never has a hole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

inline constexpr std::int64_t log_bytes_max = std::int64_t{256} << 20;  // per task attempt

class Logs {
 public:
  // Safe from several threads, as long as one task's pieces come one at a time.
  explicit Logs(std::string folder, std::int64_t bytes_max = log_bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  // Where the log of the task is (or would be). `invalid` for a job id that cannot be one.
  [[nodiscard]] Result<std::string> path(const TaskKey& task) const;

  // Writes `data` at `offset`, and answers up to where the log is stored: the sender goes on from
  // there. What is stored already is not written again; an offset beyond the end writes nothing.
  // Beyond the bound everything counts as stored: the file's last line says that the rest was
  // dropped.
  Result<std::int64_t> append(const TaskKey& task, std::int64_t offset, std::string_view data);

 private:
  std::string folder_;
  std::int64_t bytes_max_;
};

}  // namespace trainyard::scheduler
