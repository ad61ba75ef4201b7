#include "agent/host/task_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

// A shim takes milliseconds; a busy host is not a broken one.
constexpr std::chrono::seconds answer_deadline{60};
constexpr std::size_t answer_bytes_max = 4096;

// What the shim has written down; where there is nothing, it was killed, and the task with it.
TaskEnd end_of(const std::string& folder) {
  const TaskRecords records(folder);
  if (const std::optional<ExitRecord> exit = records.exit()) {
    return {.exit = exit->exit,
            .killing = exit->killing,
            .outlived_lease = exit->outlived_lease,
            .was_told = exit->was_told,
            .time = exit->time};
  }
  // The kernel has killed the leader, and nobody what it had started.
  if (const auto leader = records.process()) static_cast<void>(end_group(*leader));
  return {.exit = {.code = std::nullopt, .signal = SIGKILL},
          .killing = Killing::by_others,
          .lost_shim = true,
          .time = std::nullopt};
}

// A shim may end before its start is known to have succeeded: its end is told only then, and never
// where it has not.
class Telling {
 public:
  explicit Telling(std::function<void()> tell) : tell_(std::move(tell)) {}

  void end() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    if (is_started_) tell_();
  }
  void start() {
    const std::lock_guard lock(mutex_);
    is_started_ = true;
    if (has_ended_) tell_();
  }

 private:
  const std::function<void()> tell_;
  std::mutex mutex_;         // of both
  bool has_ended_ = false;   // the shim
  bool is_started_ = false;  // the task
};

// A line of the shim; what came before its end, where it ended.
Result<std::string> read_answer(int descriptor) {
  const auto deadline = std::chrono::steady_clock::now() + answer_deadline;
  std::string text;
  std::array<char, answer_bytes_max> part{};
  while (text.size() < answer_bytes_max && text.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd said{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int count = left.count() > 0 ? ::poll(&said, 1, static_cast<int>(left.count())) : 0;
    if (count == 0) return unavailable("its shim does not answer");
    const ssize_t bytes = ::read(descriptor, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return text.substr(0, text.find('\n'));
}

// The shim's answer: the pid of the task. One that has ended has perhaps said why.
Result<std::int64_t> read_pid(int shim) {
  TRY_ASSIGN(const std::string line, read_answer(shim));
  constexpr std::string_view pid_word = "pid ";
  constexpr std::string_view error_word = "error ";
  std::int64_t pid = 0;
  if (line.starts_with(pid_word)) {
    std::from_chars(line.data() + pid_word.size(), line.data() + line.size(), pid);
  }
  if (pid > 1) return pid;
  if (line.starts_with(error_word)) return unavailable(line.substr(error_word.size()));
  return unavailable("its shim ended before it began");
}

}  // namespace

Result<TaskProcess> TaskProcesses::start(const TaskStart& task, OnEnd on_end) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error("cannot make a pair of sockets");
  }
  const Descriptor ours(ends[0]);
  Descriptor its(ends[1]);
  ProcessSpec shim = task.program;
  shim.argv.insert(shim.argv.begin(), {shim_, lease_file_});
  shim.input = its.get();
  shim.outlives_host = true;
  const std::string& folder = task.program.folder;
  const auto telling =
      std::make_shared<Telling>([folder, on_end = std::move(on_end)] { on_end(end_of(folder)); });
  TRY_ASSIGN(const std::int64_t pid,
             host_.start(shim, [telling](const ProcessEnd&) { telling->end(); }));
  ::close(its.release());

  // Written down before the shim may begin: whoever finds no record finds no task.
  const TaskRecords records(folder);
  records.remove_earlier();
  const std::optional<ProcessName> name = name_process(pid);
  if (name) {
    TRY(records.write(
        ShimRecord{.shim = *name, .returns = task.returns, .started_at = task.started_at}));
    static_cast<void>(::send(ours.get(), "g", 1, MSG_NOSIGNAL));
  }
  ::shutdown(ours.get(), SHUT_WR);  // without its word a shim ends
  const Result<std::int64_t> child = read_pid(ours.get());
  if (!child) {
    kill(pid);
    records.remove_all();
    return child.error();
  }
  telling->start();
  return TaskProcess{.shim = pid, .pid = *child};
}

void TaskProcesses::watch(const std::string& folder, const ProcessName& shim, OnEnd on_end) {
  host_.watch(shim,
              [folder, on_end = std::move(on_end)](const ProcessEnd&) { on_end(end_of(folder)); });
}

void TaskProcesses::terminate(std::int64_t shim) { host_.signal_group(shim, SIGTERM); }

void TaskProcesses::kill(std::int64_t shim) { host_.signal_group(shim, SIGKILL); }

}  // namespace trainyard::agent
