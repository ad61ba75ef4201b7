#include "agent/host/short_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "schemas/base/descriptor.h"
#include "schemas/base/utf8.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

constexpr std::chrono::seconds time_to_die{5};  // a driver may keep a process that is killed

// Shared with the host's thread, which may outlive the wait.
class EndOfRun {
 public:
  void set(const ProcessEnd& end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
    changed_.notify_all();
  }

  std::optional<ProcessEnd> wait_for(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [this] { return end_.has_value(); });
    return end_;
  }

 private:
  std::mutex mutex_;  // guards end_
  std::condition_variable_any changed_;
  std::optional<ProcessEnd> end_;
};

struct Pipe {
  Descriptor reads;  // does not block
  Descriptor writes;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return system_error("cannot set up a pipe");
  return pipe;
}

// What is in the pipe, and no more than a little beyond `bytes_max`.
std::string read_pipe(int reads, std::size_t bytes_max) {
  std::string text;
  std::array<char, 1024> part{};
  while (text.size() <= bytes_max) {
    const ssize_t bytes = ::read(reads, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

Error ended_badly(const ExitStatus& exit, const std::string& text) {
  constexpr std::size_t words_max = 300;
  const std::string how = exit.signal ? "ended by signal " + std::to_string(*exit.signal)
                                      : "ended with exit code " + std::to_string(*exit.code);
  const std::string words = to_valid_utf8(last_line(text).substr(0, words_max));
  return unavailable(how + (words.empty() ? "" : ": " + words));
}

}  // namespace

Result<std::string> output_of(ProcessHost& host, const ShortRun& run, const std::stop_token& stop) {
  TRY_ASSIGN(Pipe pipe, make_pipe());
  const auto end = std::make_shared<EndOfRun>();
  ProcessSpec spec = run.process;
  spec.output = pipe.writes.get();
  TRY_ASSIGN(const std::int64_t pid,
             host.start(spec, [end](const ProcessEnd& seen) { end->set(seen); }));
  // Who prints more than the pipe holds waits until the deadline.
  auto ended = end->wait_for(run.deadline, stop);
  const bool is_late = !ended.has_value();
  if (is_late) {
    host.signal_group(pid, SIGKILL);
    end->wait_for(time_to_die, {});
    return unavailable(stop.stop_requested()
                           ? "the agent is to stop"
                           : "did not end within " + std::to_string(run.deadline.count()) + " ms");
  }
  const std::string text = read_pipe(pipe.reads.get(), run.bytes_max);
  if (ended->exit.code != 0) return ended_badly(ended->exit, text);
  if (text.size() > run.bytes_max) {
    return invalid("printed more than " + std::to_string(run.bytes_max) + " bytes");
  }
  return text;
}

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::size_t before = text.rfind('\n');
  return std::string(before == text.npos ? text : text.substr(before + 1));
}

}  // namespace trainyard::agent
