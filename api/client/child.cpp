#include "api/client/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace trainyard::client {
namespace {

constexpr std::size_t line_bytes_max = 64U << 10;  // a longer line is cut into several
constexpr int cannot_execute = 127;

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return unavailable("no pipe: " + std::generic_category().message(errno));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(const std::vector<char*>& arguments, int error_output, pid_t parent) {
  setpgid(0, 0);
  // Who ends without asking for an orderly end was killed, and its children go as it went: the next
  // `trainyard local` finds both folders free.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(cannot_execute);  // it ended before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(error_output, STDERR_FILENO);
  execv(arguments[0], arguments.data());
  constexpr std::string_view words = "cannot be executed\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, words.data(), words.size());
  _exit(cannot_execute);
}

}  // namespace

Result<std::string> own_program_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return internal("cannot find the own program: " + error.message());
  return self.parent_path().string();
}

Result<Child> Child::start(std::string name, const std::vector<std::string>& arguments) {
  if (access(arguments.at(0).c_str(), X_OK) != 0) {
    return unavailable("cannot start " + arguments[0] + ": " +
                       std::generic_category().message(errno));
  }
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  TRY_ASSIGN(Pipe error_output, make_pipe());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(pointers, error_output.write_end.get(), parent);
  if (pid < 0) {
    return unavailable("cannot start " + arguments[0] + ": " +
                       std::generic_category().message(errno));
  }
  return Child(std::move(name), pid, std::move(error_output.read_end));
}

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      error_output_(std::move(other.error_output_)),
      running_(std::exchange(other.running_, false)),
      wait_status_(other.wait_status_),
      unfinished_line_(std::move(other.unfinished_line_)) {}

Child::~Child() {
  if (running_) {
    send_signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

std::vector<std::string> Child::read_lines() {
  std::array<char, 4096> buffer{};
  std::vector<std::string> lines;
  while (error_output_) {
    const ssize_t got = read(error_output_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      error_output_ = Descriptor();
      if (!unfinished_line_.empty()) lines.push_back(std::exchange(unfinished_line_, {}));
      break;
    }
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
      if (c != '\n') unfinished_line_ += c;
      if (c == '\n' || unfinished_line_.size() >= line_bytes_max) {
        lines.push_back(std::exchange(unfinished_line_, {}));
      }
    }
  }
  return lines;
}

void Child::send_signal(int signal) const {
  if (running_) kill(pid_, signal);
}

void Child::reap() {
  if (running_ && waitpid(pid_, &wait_status_, WNOHANG) == pid_) running_ = false;
}

int Child::exit_status() const {
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

std::string Child::ending_words() const {
  if (!WIFSIGNALED(wait_status_)) return "exited with code " + std::to_string(exit_status());
  const int signal = WTERMSIG(wait_status_);
  return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

}  // namespace trainyard::client
