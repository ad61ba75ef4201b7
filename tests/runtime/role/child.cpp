// fork and exec by posix_spawn; waiting by poll on the pipe and on a pidfd.
#include "tests/runtime/role/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

extern char** environ;

namespace trainyard::runtime::test {
namespace {

constexpr int kDeadlineMillis = 60'000;

bool readable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, kDeadlineMillis) == 1;
}

}  // namespace

Child::Child(const std::string& program, const std::string& argument) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string arguments[] = {program, argument};
  char* argv[] = {arguments[0].data(), arguments[1].data(), nullptr};
  if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  stderr_ = ends[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stderr_(std::exchange(other.stderr_, -1)),
      output_(std::move(other.output_)),
      searched_(other.searched_) {}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (stderr_ >= 0) ::close(stderr_);
}

bool Child::read_some() {
  char bytes[4096];
  if (!readable(stderr_)) return false;
  const ssize_t count = ::read(stderr_, bytes, sizeof bytes);
  if (count <= 0) return false;
  output_.append(bytes, static_cast<std::size_t>(count));
  return true;
}

std::string Child::wait_for_line(const std::string& text) {
  for (;;) {
    for (auto end = output_.find('\n', searched_); end != std::string::npos;
         end = output_.find('\n', searched_)) {
      const std::string line = output_.substr(searched_, end - searched_);
      searched_ = end + 1;
      if (line.find(text) != std::string::npos) return line;
    }
    if (!read_some()) return "";
  }
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Child::wait() {
  constexpr int kTooLate = -1000;
  if (pid_ <= 0) return kTooLate;
  while (read_some()) {
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  const bool ended = readable(pidfd);
  ::close(pidfd);
  if (!ended) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  if (!ended) return kTooLate;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace trainyard::runtime::test
