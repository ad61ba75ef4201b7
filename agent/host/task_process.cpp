#include "agent/host/task_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include "agent/process/leftovers.h"
#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

// A shim takes milliseconds; a busy host is not a broken one.
constexpr std::chrono::seconds answer_deadline{10};
constexpr std::size_t answer_bytes_max = 4096;

// What the shim has written down; where there is nothing, it was killed, and the task with it.
TaskEnd end_of(const std::string& folder) {
  if (const std::optional<ExitRecord> exit = TaskRecords(folder).exit()) {
    return {.exit = exit->exit,
            .killing = exit->killing,
            .outlived_lease = exit->outlived_lease,
            .was_told = exit->was_told,
            .time = exit->time};
  }
  return {.exit = {.code = std::nullopt, .signal = SIGKILL},
          .killing = Killing::by_others,
          .lost_shim = true,
          .time = std::nullopt};
}

// With a shim that was killed the kernel has killed the task, and nobody what that had started.
bool is_task_gone(const std::string& folder) {
  const TaskRecords records(folder);
  if (records.exit()) return true;
  const std::optional<ProcessName> leader = records.process();
  return !leader || is_group_gone(folder, *leader);
}

// A shim may end before its start is known to have succeeded: its end is told only then, and never
// where it has not.
class StartedTask {
 public:
  explicit StartedTask(std::function<void()> tell) : tell_(std::move(tell)) {}

  void end() {
    if (is_second()) tell_();
  }
  void start() {
    if (is_second()) tell_();
  }

 private:
  bool is_second() { return has_begun_or_ended_.exchange(true); }

  const std::function<void()> tell_;
  std::atomic<bool> has_begun_or_ended_ = false;  // one of both
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
    if (count < 0 && errno == EINTR) continue;
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

Result<TaskProcess> TaskProcesses::start(const TaskStart& task, OnEnd on_end,
                                         const OnStarted& on_started) {
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
  const auto started = std::make_shared<StartedTask>(
      [folder, on_end = std::move(on_end)] { on_end(end_of(folder)); });
  TRY_ASSIGN(const std::int64_t pid, host_.start(
                                         shim, [started](const ProcessEnd&) { started->end(); },
                                         [folder] { return is_task_gone(folder); }));
  ::close(its.release());

  // Written down before the shim may begin: whoever finds no record finds no task. What is left of
  // an earlier process goes then, and never leaves a folder that tells of none.
  const TaskRecords records(folder);
  const std::optional<ProcessName> name = name_process(pid);
  if (name) {
    TRY(records.write(
        ShimRecord{.shim = *name, .returns = task.returns, .started_at = task.started_at}));
    records.remove_earlier();
    static_cast<void>(::send(ours.get(), "g", 1, MSG_NOSIGNAL));
  }
  ::shutdown(ours.get(), SHUT_WR);  // without its word a shim ends
  const Result<std::int64_t> child = read_pid(ours.get());
  if (!child) {
    kill(pid);
    return child.error();
  }
  const TaskProcess process{.shim = pid, .pid = *child};
  if (on_started) on_started(process);
  started->start();
  return process;
}

void TaskProcesses::watch(const std::string& folder, const ProcessName& shim, OnEnd on_end) {
  host_.watch(
      {.process = shim, .folder = folder},
      [folder, on_end = std::move(on_end)](const ProcessEnd&) { on_end(end_of(folder)); },
      [folder] { return is_task_gone(folder); });
}

void TaskProcesses::terminate(std::int64_t shim) { host_.signal_group(shim, SIGTERM); }

void TaskProcesses::kill(std::int64_t shim) { host_.signal_group(shim, SIGKILL); }

}  // namespace trainyard::agent
