// Starts task processes and learns how they ended. Boost.Process and waiting for children live in
// process.cpp and nowhere else, on one thread that lives as long as this object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/process/killing.h"
#include "agent/process/task_records.h"
#include "schemas/base/result.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

struct ProcessSpec {
  std::vector<std::string> argv;                   // the first is a path
  std::map<std::string, std::string> environment;  // all of it: nothing is inherited
  std::string folder;                              // to start in
  std::string log_path;                            // stdout and stderr are appended here
  int output = -1;  // a descriptor that takes stdout and stderr in the place of the log
  int input = -1;   // one for stdin; else it reads nothing
  // Lives on when this process ends, and ends by SIGUSR1 in the place of SIGKILL, with all that it
  // has started: a shim.
  bool outlives_host = false;
};

struct ProcessEnd {
  ExitStatus exit;
  Killing killing = Killing::none;
};

class ProcessHost {
 public:
  // Called on the host's own thread, once per started process, when the process and every member of
  // its group are gone. It may not call back into the host.
  using OnEnd = std::function<void(const ProcessEnd& end)>;
  // Of a shim that has ended, in the place of its own group: whether all that it has started is
  // gone, too. Asked again and again until it is; on the host's own thread.
  using IsGone = std::function<bool()>;

  ProcessHost();
  // Kills what still runs, with its groups, and waits until all of it is gone: that which was to
  // outlive this process, too.
  ~ProcessHost();
  ProcessHost(const ProcessHost&) = delete;
  ProcessHost& operator=(const ProcessHost&) = delete;

  // The pid, which is also the number of the process's own group and session. The process inherits
  // no descriptor, has default signals, and is killed by the kernel when this process dies, unless
  // it is to outlive it. An error says why it could not be started; then `on_end` is never called.
  Result<std::int64_t> start(const ProcessSpec& spec, OnEnd on_end, IsGone is_gone = {});

  // Watches one that another process has started, to outlive it, and which works in the folder. How
  // it ended nobody can tell but itself: `on_end` is called with nothing, also where it is gone by
  // now.
  struct Watched {
    ProcessName process;
    std::string folder;
  };
  void watch(const Watched& watched, OnEnd on_end, IsGone is_gone);

  // To the whole group of a started process, or to a shim; one that has ended is left alone.
  void signal_group(std::int64_t pid, int signal);

 private:
  class Reaper;
  std::unique_ptr<Reaper> reaper_;
};

}  // namespace trainyard::agent
