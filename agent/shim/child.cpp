#include "agent/shim/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

struct Pipe {
  Descriptor reads;
  Descriptor writes;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Whether the other side has written, and not just gone.
template <class Word>
bool read_word(const Descriptor& from, Word& word) {
  ssize_t bytes = 0;
  do bytes = ::read(from.get(), &word, sizeof word);
  while (bytes < 0 && errno == EINTR);
  return bytes == sizeof word;
}

template <class Word>
bool write_word(const Descriptor& to, const Word& word) {
  return ::write(to.get(), &word, sizeof word) == sizeof word;
}

// The blocked signals of the shim are not the task's.
void restore_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_task(char* const* argv, pid_t shim, const Pipe& go, const Pipe& failure) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(EXIT_FAILURE);  // it died before the line above
  restore_signals();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  char word = 0;
  if (!read_word(go.reads, word)) ::_exit(EXIT_FAILURE);
  ::execv(argv[0], argv);
  const int error = errno;
  ::_exit(write_word(failure.writes, error) ? EXIT_FAILURE : 2);
}

}  // namespace

Result<ProcessName> start_child(char* const* argv, const TaskRecords& records) {
  TRY_ASSIGN(Pipe go, make_pipe());
  TRY_ASSIGN(Pipe failure, make_pipe());
  const pid_t shim = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a process");
  if (pid == 0) {
    ::close(go.writes.release());
    become_task(argv, shim, go, failure);
  }
  ::close(failure.writes.release());

  const std::optional<ProcessName> child = name_process(pid);  // a zombie, at the worst
  const Status written = child ? records.write_process(*child)
                               : Status(unavailable("cannot find a process that was started"));
  const bool begins = written && write_word(go.writes, 'g');
  ::close(go.writes.release());
  int error = 0;
  const bool failed = read_word(failure.reads, error);
  if (begins && !failed) return *child;
  ::waitpid(pid, nullptr, 0);
  records.remove_earlier();  // there was no task
  if (!written) return written.error();
  return invalid(std::string("cannot start ") + argv[0] + ": " + std::strerror(error));
}

}  // namespace trainyard::agent
