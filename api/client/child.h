// A child program with its stderr on a pipe: what `trainyard local` needs to run a server and an
// agent. One thread starts, reads and reaps them.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::client {

// The folder of the running program, where its sister programs are.
Result<std::string> own_program_folder();

class Child {
 public:
  // Starts `arguments[0]` in a process group of its own, so that Ctrl-C at the terminal reaches
  // only the parent. It is killed when the calling thread ends. `unavailable` names what cannot be
  // started.
  static Result<Child> start(std::string name, const std::vector<std::string>& arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills and reaps what still runs

  [[nodiscard]] const std::string& name() const { return name_; }
  // Non-blocking; -1 once it has ended.
  [[nodiscard]] int error_output() const { return error_output_.get(); }
  [[nodiscard]] bool running() const { return running_; }
  // As a shell says it: the exit code, or 128 + the signal's number. Of a child that has ended.
  [[nodiscard]] int exit_status() const;
  [[nodiscard]] std::string ending_words()
      const;  // "exited with code 1", "was ended by signal 9 (Killed)"

  // What came on stderr since the last call, in whole lines; the last one as it is once the pipe
  // has ended.
  std::vector<std::string> read_lines();
  void send_signal(int signal) const;
  void reap();  // notices an end; never blocks

 private:
  Child(std::string name, pid_t pid, Descriptor error_output)
      : name_(std::move(name)), pid_(pid), error_output_(std::move(error_output)) {}

  std::string name_;
  pid_t pid_ = -1;
  Descriptor error_output_;
  bool running_ = true;
  int wait_status_ = 0;
  std::string unfinished_line_;
};

}  // namespace trainyard::client
