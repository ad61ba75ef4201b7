// trainyard-shim LEASE PROGRAM ARGUMENT...: the parent of one task. Its agent starts it in the
// task's folder and talks with it over its standard input: "g" begins the task, and the answer is
// "pid N" or "error WORDS". From then on it needs no agent: it passes SIGTERM on, kills on SIGUSR1
// and when the lease is over, and writes down how the task ended when all of its group is gone.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "agent/process/killing.h"
#include "agent/process/lease_file.h"
#include "agent/process/process_table.h"
#include "agent/process/task_records.h"
#include "agent/shim/child.h"
#include "schemas/base/clock.h"

namespace trainyard::agent {
namespace {

constexpr timespec look_interval{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec group_interval{.tv_sec = 0, .tv_nsec = 5'000'000};

// An agent that is gone by now finds the task in its folder.
void answer(const std::string& line) {
  if (::write(STDIN_FILENO, line.data(), line.size()) < 0) return;
}

// False: the agent is gone, and knows of no task.
bool wait_for_go() {
  char word = 0;
  ssize_t bytes = 0;
  do bytes = ::read(STDIN_FILENO, &word, 1);
  while (bytes < 0 && errno == EINTR);
  return bytes == 1 && word == 'g';
}

class Shim {
 public:
  Shim(LeaseFile lease, TaskRecords records)
      : lease_(std::move(lease)), records_(std::move(records)) {
    // All are taken by sigtimedwait, one after another: nothing interrupts anything.
    ::sigemptyset(&signals_);
    for (const int number : {SIGTERM, SIGUSR1, SIGCHLD, SIGINT, SIGHUP, SIGPIPE}) {
      ::sigaddset(&signals_, number);
    }
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }

  Status start(char* const* argv) {
    TRY(records_.reserve_exit());
    TRY_ASSIGN(task_, start_child(argv, records_));
    return ok();
  }

  [[nodiscard]] std::int64_t pid() const { return task_.pid; }

  void watch() {
    while (!has_ended()) {
      siginfo_t info{};
      const int number = ::sigtimedwait(&signals_, &info, &look_interval);
      if (number == SIGTERM) terminate();
      if (number == SIGUSR1 || is_folder_gone()) kill_task();
      // One that cannot be read is as it was.
      if (const auto lease = lease_.read()) lease_end_ = lease->end;
      if (!outlived_lease_ && steady_now() >= lease_end_) {
        outlived_lease_ = true;
        signal_group(SIGKILL);
      }
    }
  }

  // The task's process is a zombie until all is written down: its pid is nobody else's, and to kill
  // its group hits its group alone.
  Status finish() {
    signal_group(SIGKILL);
    while (!running_in_group(task_.pid).empty()) {
      signal_group(SIGKILL);  // again: a member may have forked while it was being killed
      ::nanosleep(&group_interval, nullptr);
    }
    ExitRecord record{.exit = exit_,
                      .outlived_lease = outlived_lease_,
                      .time = read_clocks().wall,
                      .was_told = was_told_};
    if (exit_.signal == SIGKILL) {
      const bool by_us = was_killed_ || outlived_lease_;
      record.killing = by_us ? Killing::by_us : kills_.killing_of(task_.pid);
    }
    const Status written = records_.write(record);
    ::waitpid(static_cast<pid_t>(task_.pid), nullptr, 0);
    return written;
  }

 private:
  bool has_ended() {
    siginfo_t info{};
    const int failed =
        ::waitid(P_PID, static_cast<id_t>(task_.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (failed != 0 || info.si_pid == 0) return false;
    // Tells exit code 9 from SIGKILL.
    (info.si_code == CLD_EXITED ? exit_.code : exit_.signal) = info.si_status;
    return true;
  }

  void signal_group(int number) const { ::kill(static_cast<pid_t>(-task_.pid), number); }

  void terminate() {
    was_told_ = true;
    signal_group(SIGTERM);
  }

  void kill_task() {
    was_told_ = true;
    was_killed_ = true;
    signal_group(SIGKILL);
  }

  // Nobody will ever find the task there.
  static bool is_folder_gone() {
    struct stat facts {};
    return ::stat(".", &facts) == 0 && facts.st_nlink == 0;
  }

  const KillWatch kills_;
  const LeaseFile lease_;
  const TaskRecords records_;
  sigset_t signals_{};
  ProcessName task_;
  ExitStatus exit_;
  bool was_told_ = false;  // to end, by its agent
  bool was_killed_ = false;
  bool outlived_lease_ = false;
  Time lease_end_;
};

int fail(const Error& error) {
  answer("error " + error.message + "\n");
  return EXIT_FAILURE;
}

int run(const char* lease_path, char* const* argv) {
  Result<LeaseFile> lease = LeaseFile::read_only(lease_path);
  if (!lease) return fail(lease.error());
  Shim shim(*std::move(lease), TaskRecords("."));
  if (!wait_for_go()) return EXIT_FAILURE;
  if (const Status started = shim.start(argv); !started) return fail(started.error());
  answer("pid " + std::to_string(shim.pid()) + "\n");
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  shim.watch();
  const Status finished = shim.finish();
  if (finished) return EXIT_SUCCESS;
  std::cerr << "trainyard-shim: " << finished.error().message << "\n";
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace trainyard::agent

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "trainyard-shim LEASE PROGRAM ARGUMENT...: started by trainyard-agent, for each "
                 "task\n";
    return 2;
  }
  return trainyard::agent::run(argv[1], argv + 2);
}
