// What is written down in a task's folder of its processes, so that an agent which starts anew
// finds them: boot id, pid and start time, never a pid alone. Agents and shims of different
// versions read one another's: the forms are lines of words, and only grow at their ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/process/killing.h"
#include "schemas/base/result.h"
#include "schemas/base/time.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

// Of the running kernel and the pids that this process sees: those of a container are its own.
std::string this_boot();

// A process by its name for ever.
struct ProcessName {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;
  std::string boot;
};
// Of one that runs, or is a zombie; nothing when there is none.
std::optional<ProcessName> name_process(std::int64_t pid);
// One that runs. A pid that another process has by now is not it. Unknown: for want of a
// descriptor, as an example.
enum class Presence { there, gone, unknown };
Presence presence_of(const ProcessName& process);
// Of one that works in the folder, as a shim and its task do: a record may be a copy, or tell of
// somebody else's process.
Presence presence_in(const std::string& folder, const ProcessName& process);

// Written by the agent, before the shim may begin.
struct ShimRecord {
  ProcessName shim;
  std::int64_t returns = 0;  // how often the task was started again
  WallTime started_at;       // the first time
};
// Written by the shim, when the task's processes are gone.
struct ExitRecord {
  ExitStatus exit;
  Killing killing = Killing::none;
  bool outlived_lease = false;
  WallTime time;
  bool was_told = false;  // to end, by an agent
};

class TaskRecords {
 public:
  explicit TaskRecords(std::string folder) : folder_(std::move(folder)) {}

  // Nothing where there is none that makes sense.
  [[nodiscard]] std::optional<ShimRecord> shim() const;
  [[nodiscard]] std::optional<ProcessName> process() const;  // the task's own, written by the shim
  [[nodiscard]] std::optional<ExitRecord> exit() const;

  [[nodiscard]] Status write(const ShimRecord& record) const;
  [[nodiscard]] Status write_process(const ProcessName& process) const;
  // Takes the room that the exit record will need, before there may be none.
  [[nodiscard]] Status reserve_exit() const;
  [[nodiscard]] Status write(const ExitRecord& record) const;
  // Of an earlier process of the task, before the next is started.
  void remove_earlier() const;

 private:
  [[nodiscard]] std::string path(const char* name) const { return folder_ + "/" + name; }

  std::string folder_;
};

}  // namespace trainyard::agent
