// trainyard-runtime task.json: one task of a job, as an agent starts it or anybody by hand. Exit
// codes: 0 completed, 1 failed (the last line of events.jsonl says why), 2 task.json is no good or
// wrong usage, 28 the disk is full (and the last line says so if there was room for it), 143
// stopped by SIGTERM or SIGINT.
//
// trainyard-runtime --measure-gpu: prints one line of JSON that says how fast the first GPU that
// it sees makes products, in each precision. Exit codes: 0, or 1 with a sentence on stderr.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <stop_token>
#include <string>
#include <thread>

#include "runtime/device/open_device.h"
#include "runtime/device/product_rate.h"
#include "runtime/math/cpu.h"
#include "runtime/net/pin_malloc.h"
#include "runtime/role/task.h"
#include "schemas/base/log.h"
#include "schemas/base/open_files.h"
#include "schemas/base/version.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"
#include "schemas/wire/product_rates_json.h"
#include "schemas/wire/task_json.h"

namespace trainyard::runtime {
namespace {

constexpr const char* usage =
    "usage: trainyard-runtime task.json      run a task\n"
    "       trainyard-runtime --measure-gpu  say how fast the first GPU makes products\n"
    "       trainyard-runtime --version\n";

constexpr int exit_completed = 0;
constexpr int exit_failed = 1;
constexpr int exit_bad_task = 2;
constexpr int exit_stopped = 128 + SIGTERM;

// SIGTERM and SIGINT ask to stop, in an orderly way and at a place of the program's choice. Made
// before any other thread, so that all inherit the mask.
class StopOnSignal {
 public:
  StopOnSignal() {
    ::signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& over) {
      while (true) {
        if (::sigwaitinfo(&signals_, nullptr) < 0) continue;  // interrupted
        if (over.stop_requested()) return;
        stop_.request_stop();
      }
    });
  }
  ~StopOnSignal() {
    thread_.request_stop();
    ::pthread_kill(thread_.native_handle(), SIGTERM);  // to that thread alone
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread thread_;
};

Result<TaskContext> read_task(const char* path) {
  constexpr std::size_t bytes_max = 16 << 20;
  std::ifstream file(path, std::ios::binary);
  const auto text = read_stream(file, bytes_max);
  if (!text) return invalid(std::string(path) + " is larger than 16 MiB: it is no task.json");
  if (file.bad() || !file.eof()) return not_found(std::string("cannot read ") + path);
  return parse_task_context(*text);
}

Result<TaskEnd> run_role(const Task& task) {
  switch (task.context.key.role) {
    case Role::ps: return run_ps(task);
    case Role::worker:
    case Role::chief: return run_worker(task);
    case Role::evaluator: break;
  }
  return invalid("the role evaluator is not available in this version yet");
}

Result<TaskEnd> run_caught(const Task& task) {
  try {
    return run_role(task);
  } catch (const std::bad_alloc&) {  // on this thread alone: on a service's it ends the process
    return task.cause.of(
        Reason::oom_killed,
        Result<TaskEnd>(internal("this host has less memory than the task asks for")));
  } catch (const std::exception& error) {
    return internal(std::string("unexpected: ") + error.what());
  }
}

int report(const Task& task, const Result<TaskEnd>& end) {
  if (task.stop.stop_requested() && !(end.has_value() && *end == TaskEnd::completed)) {
    log_info("stopped");
    return exit_stopped;
  }
  if (end.has_value()) return exit_completed;
  const bool is_full = says_disk_is_full(end.error());
  const std::string reason(name_of(is_full ? Reason::no_space : task.cause.reason()));
  std::string message = end.error().message;
  const bool names_file = message.find(" /") != std::string::npos;
  if (is_full && !names_file) message += "; the task's folder is " + task.context.folder;
  log_error("failed", {{"reason", reason}, {"message", message}});
  const Status said = task.events.append(FailureEvent{.reason = reason, .message = message});
  if (!said.has_value()) log_error("events.jsonl", {{"message", said.error().message}});
  return is_full ? exit_no_space : exit_failed;
}

int run(const TaskContext& context, const std::stop_token& stop) {
  std::error_code error;
  std::filesystem::create_directories(context.folder, error);
  auto events = EventLog::open(context.folder);
  if (!events.has_value()) {
    log_error("bad task folder", {{"message", events.error().message}});
    return says_disk_is_full(events.error()) ? exit_no_space : exit_bad_task;
  }
  log_info("task", {{"task", to_string(context.key)}, {"folder", context.folder}});
  FailureCause cause;
  const Task task{.context = context, .events = *events, .cause = cause, .stop = stop};
  return report(task, run_caught(task));
}

int measure_gpu() {
  const auto measured = measure_first_gpu(plugin_path());
  if (!measured.has_value()) {
    std::fprintf(stderr, "%s\n", measured.error().message.c_str());
    return exit_failed;
  }
  std::printf("%s\n", to_json(*measured).c_str());
  return std::fflush(stdout) == 0 ? exit_completed : exit_failed;
}

int run_task(const char* path) {
  raise_open_files();  // a ps has a socket for each of its workers
  if (!pin_malloc()) log_warning("malloc could not be tuned");
  const StopOnSignal signals;
  const auto context = read_task(path);
  if (!context.has_value()) {
    log_error("bad task.json", {{"file", path}, {"message", context.error().message}});
    return exit_bad_task;
  }
  return run(*context, signals.token());
}

}  // namespace
}  // namespace trainyard::runtime

int main(int argc, char** argv) {
  using namespace trainyard;           // NOLINT: main only wires
  using namespace trainyard::runtime;  // NOLINT
  const std::string_view argument = argc == 2 ? argv[1] : "";
  const bool is_measurement = argument == "--measure-gpu";
  if (argument == "--version") {
    std::printf("trainyard-runtime %s\n", std::string(version()).c_str());
    return exit_completed;
  }
  if (argument.empty() || (argument.starts_with("-") && !is_measurement)) {
    const bool is_wanted = argument == "--help";
    std::fputs(usage, is_wanted ? stdout : stderr);
    return is_wanted ? exit_completed : exit_bad_task;
  }
  if (const Status cpu = check_cpu(); !cpu.has_value()) {
    log_error("this processor cannot run the runtime", {{"message", cpu.error().message}});
    return exit_failed;
  }
  flush_denormals();
  const int code = is_measurement ? measure_gpu() : run_task(argv[1]);
  std::fflush(nullptr);
  std::_Exit(code);  // all is said and stored: nothing is gained by taking libraries down
}
