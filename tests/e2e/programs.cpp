#include "tests/e2e/programs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "tests/support/process_state.h"
#include "tests/support/program_path.h"

extern char** environ;

namespace trainyard::e2e {
namespace {

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Program::Program(const std::string& name, std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");

  const std::string path = program_path(name);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    throw std::runtime_error("cannot start " + path);
  }
  drainer_ = std::thread([this, descriptor = ends[0]] { drain(descriptor); });
}

Program::~Program() {
  if (!status_) {
    signal(SIGKILL);
    wait(in_seconds(10));
  }
  drainer_.join();
}

void Program::drain(int descriptor) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (count <= 0) {
      ended_ = true;
      break;
    }
    output_.append(buffer.data(), static_cast<std::size_t>(count));
    changed_.notify_all();
  }
  changed_.notify_all();
  ::close(descriptor);
}

void Program::signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

std::optional<int> Program::wait(Deadline deadline) {
  if (!status_) {
    const int descriptor = pidfd_open(pid_);
    if (descriptor >= 0) {
      pollfd waiting{descriptor, POLLIN, 0};
      ::poll(&waiting, 1, milliseconds_until(deadline));
      ::close(descriptor);
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  }
  if (status_) {  // what it said last is perhaps still on its way
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [this] { return ended_; });
  }
  return status_;
}

std::string Program::wait_for_line(const std::function<bool(const std::string&)>& matches,
                                   Deadline deadline) {
  std::size_t begin = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    for (std::size_t end = output_.find('\n', begin); end != std::string::npos;
         end = output_.find('\n', begin)) {
      std::string line = output_.substr(begin, end - begin);
      if (matches(line)) return line;
      begin = end + 1;
    }
    if (ended_ || changed_.wait_until(lock, deadline) == std::cv_status::timeout) return "";
  }
}

std::string Program::output() const {
  const std::lock_guard lock(mutex_);
  return output_;
}

bool wait_gone(pid_t pid, Deadline deadline) {
  const int descriptor = pidfd_open(pid);
  if (descriptor < 0) return true;
  pollfd waiting{descriptor, POLLIN, 0};
  ::poll(&waiting, 1, milliseconds_until(deadline));
  ::close(descriptor);
  return !is_alive(pid);
}

}  // namespace trainyard::e2e
