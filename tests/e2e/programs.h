// Real programs as children of a test: started, watched, killed, and never left behind.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/environment.h"
#include "tests/support/waiting.h"

namespace trainyard::e2e {

// Steps of a job that must last long enough to be disturbed; fewer under a sanitizer.
constexpr int long_run(int steps) { return steps / slowness; }

// A child process whose stderr is kept. SIGKILLed when the object goes.
class Program {
 public:
  Program(const std::string& name, std::vector<std::string> arguments);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit status as of waitpid, or nothing at the deadline. Before the deadline it waits for the
  // end of output(), too.
  std::optional<int> wait(Deadline deadline);
  // The first line of stderr that `matches`, from the start of the program; "" at the deadline or
  // the end.
  std::string wait_for_line(const std::function<bool(const std::string&)>& matches,
                            Deadline deadline);
  [[nodiscard]] std::string output() const;

 private:
  void drain(int descriptor);

  pid_t pid_ = -1;
  std::optional<int> status_;
  std::thread drainer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string output_;  // guarded by mutex_
  bool ended_ = false;  // guarded by mutex_: stderr is closed
};

// Waits until the process is gone (not only our children): true, or false at the deadline.
bool wait_gone(pid_t pid, Deadline deadline);

}  // namespace trainyard::e2e
