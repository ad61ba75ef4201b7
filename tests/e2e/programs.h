// Real programs as children of a test: started, watched, killed, and never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/environment.h"

namespace trainyard::e2e {

// Programs under a sanitizer get longer deadlines and shorter jobs.
inline constexpr int slowness = is_sanitized ? 5 : 1;
// Steps of a job that must last long enough to be disturbed.
constexpr int long_run(int steps) { return steps / slowness; }

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline in_seconds(int count) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(count * slowness);
}

// A folder of its own under the system's temporary folder, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string sub(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A child process whose stderr is kept. SIGKILLed when the object goes.
class Program {
 public:
  Program(const std::string& name, std::vector<std::string> arguments);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit status as of waitpid, or nothing at the deadline.
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

// Where the programs are: TRAINYARD_BIN, which CTest sets.
std::string program_path(const std::string& name);
// Is there a process of this number that is not a zombie?
bool is_alive(pid_t pid);
// Waits until the process is gone (not only our children): true, or false at the deadline.
bool wait_gone(pid_t pid, Deadline deadline);

}  // namespace trainyard::e2e
