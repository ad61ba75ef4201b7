#include "agent/loop/task_runner.h"

#include <algorithm>
#include <filesystem>

#include "agent/host/ports.h"
#include "agent/host/tail.h"
#include "agent/loop/launch.h"
#include "schemas/base/log.h"
#include "schemas/base/utf8.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr int log_tail_lines = 50;

std::string describe(const ExitStatus& exit) {
  if (exit.signal) return "signal " + std::to_string(*exit.signal);
  return "exit code " + std::to_string(exit.code.value_or(0));
}

// A full disk is the reason wherever it is met.
Reason reason_of(const Error& error, Reason otherwise) {
  return says_disk_is_full(error) ? Reason::no_space : otherwise;
}

constexpr const char* killed_words =
    "killed by SIGKILL, which its agent did not send; the kernel's log may say more";
constexpr const char* lost_shim_words =
    "its parent, trainyard-shim, was killed, and with it the task";
constexpr const char* perhaps_memory_words =
    "killed by SIGKILL, which its agent did not send, while this host killed processes for want of "
    "memory: this may have been one of them, the kernel's log says";

// What the exit does not say.
struct Knowledge {
  Reason reason = Reason::none;
  std::string message;
};

Knowledge knowledge_of(const TaskEnd& end, const std::string& folder) {
  if (end.lost_shim) return {Reason::none, lost_shim_words};
  if (end.exit.code == exit_no_space) {
    return {Reason::no_space, "no space is left on the disk of its folder " + folder};
  }
  if (end.killing == Killing::for_memory) return {Reason::oom_killed, ""};
  if (end.killing == Killing::perhaps_for_memory) return {Reason::none, perhaps_memory_words};
  if (end.killing == Killing::by_others) return {Reason::none, killed_words};
  return {};
}

// Whether the task can listen where it is told to.
Status check_ports(const TaskContext& task) {
  if (task.listen.empty()) return ok();
  const std::string host = task.listen.substr(0, task.listen.rfind(':'));
  for (const int port : {port_of(task.listen), task.rows_port}) {
    if (port != 0) TRY(try_to_listen(host, port));
  }
  return ok();
}

bool is_missing(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) && !error;
}

// The files that an event announces; most announce none.
std::vector<AnnouncedFile> announced_files(const TaskFiles& task, const RunEvent& event) {
  if (const auto* shard = std::get_if<ShardEvent>(&event.what)) {
    return {{.task = task, .step = shard->step, .file = shard->file}};
  }
  if (const auto* manifest = std::get_if<ManifestEvent>(&event.what)) {
    std::vector<AnnouncedFile> files{
        {.task = task, .step = manifest->step, .file = manifest->manifest}};
    if (manifest->vocabulary) {
      files.push_back({.task = task, .step = manifest->step, .file = *manifest->vocabulary});
    }
    return files;
  }
  return {};
}

}  // namespace

TaskRunner::TaskRunner(RunnerOptions options, const Workdir& workdir, RunnerCallbacks callbacks)
    : options_(std::move(options)),
      workdir_(workdir),
      callbacks_(std::move(callbacks)),
      server_(options_.server),
      uploader_(server_,
                [this](const TaskKey& key) {
                  callbacks_.on_event(PartDelivered{.key = key, .part = Part::files});
                }),
      log_shipper_(server_, options_.log_bytes_max,
                   [this](const TaskKey& key) {
                     callbacks_.on_event(PartDelivered{.key = key, .part = Part::log});
                   }),
      fetcher_(server_,
               [this](const TaskKey& key, const Status& status) {
                 callbacks_.on_event(RestoreFetched{.key = key, .status = status});
               }),
      event_tail_([this](const TailedEvents& events) { return pass_on(events); },
                  [this](const TaskKey& key) {
                    callbacks_.on_event(PartDelivered{.key = key, .part = Part::events});
                  }),
      processes_(options_.shim, workdir_.lease_file()),
      starter_(
          processes_,
          [this](const TaskKey& key, const Result<TaskProcess>& started) {
            callbacks_.on_event(TaskLaunched{.key = key, .started = started});
          },
          [this](const TaskKey& key, const TaskEnd& end) {
            callbacks_.on_event(ProcessGone{.key = key, .end = end});
          }) {}

TaskRunner::~TaskRunner() { server_.cancel(); }

void TaskRunner::run() {
  uploader_.run();
  log_shipper_.run();
  fetcher_.run();
  event_tail_.run();
  starter_.run();
}

TaskFound TaskRunner::go_on(const FoundTask& found) {
  const WantedTask& wanted = found.wanted;
  const TaskKey& key = wanted.task.key;
  Task& task = tasks_[key];
  task.wanted = wanted;
  task.wanted.task.listen = at_host(wanted.task.listen, options_.listen_host);
  task.files = {
      .key = key, .token = wanted.token, .folder = workdir_.task_folder(key), .is_found = true};
  task.stage = Task::Stage::running;
  task.shim = found.shim.shim.pid;
  task.returns = found.shim.returns;
  task.started_at = found.shim.started_at;
  event_tail_.add(task.files);
  log_shipper_.add(task.files);
  processes_.watch(task.files.folder, found.shim.shim, [this, key](const TaskEnd& end) {
    callbacks_.on_event(ProcessGone{.key = key, .end = end});
  });
  return {.wanted = wanted,
          .pid = found.pid,
          .started_at = task.started_at,
          .returns = task.returns,
          .was_told_to_save = found.was_told_to_save};
}

std::vector<AgentEvent> TaskRunner::start(const WantedTask& wanted, const Now& now) {
  const TaskKey& key = wanted.task.key;
  const auto [entry, added] = tasks_.try_emplace(key);
  ENSURE(added);  // the core starts an attempt of a task at most once
  Task& task = entry->second;
  task.wanted = wanted;
  task.wanted.task.listen = at_host(wanted.task.listen, options_.listen_host);
  if (shutting_down_) return {start_failed_in_shutdown(task)};
  Result<std::string> folder = workdir_.make_task_folder(key);
  if (!folder)
    return {start_failed(task, reason_of(folder.error(), Reason::start_failed),
                         folder.error().message)};
  task.files = {.key = key, .token = wanted.token, .folder = std::move(folder).value()};
  if (Status written = write_wanted(task.files.folder, wanted); !written) {
    return {start_failed(task, reason_of(written.error(), Reason::start_failed),
                         written.error().message)};
  }
  if (!wanted.restore) return launch(task, now);

  fetcher_.add({.key = key,
                .token = wanted.token,
                .checkpoint = *wanted.restore,
                .folder = workdir_.restore_folder(key)});
  return {};
}

std::vector<AgentEvent> TaskRunner::restart(const RestartTask& order, const Now& now) {
  Task& task = tasks_.at(order.key);
  task.returns = order.returns;
  if (shutting_down_) return {start_failed_in_shutdown(task)};
  return launch(task, now);
}

std::vector<AgentEvent> TaskRunner::launch(Task& task, const Now& now) {
  const TaskKey& key = task.wanted.task.key;
  const JobSpec& job = task.wanted.task.spec;
  if (const Status allowed = check_environment(job.env, options_.allowed_env); !allowed) {
    return {start_failed(task, Reason::start_failed, allowed.error().message)};
  }
  if (const Status allowed = check_data(job.dataset, options_.data_roots); !allowed) {
    return {start_failed(task, Reason::bad_data, allowed.error().message)};
  }
  if (const Status free = check_ports(task.wanted.task); !free) {
    const bool held = free.error().code == Code::conflict;
    return {start_failed(task, held ? Reason::port_in_use : Reason::start_failed,
                         free.error().message)};
  }
  Result<ProcessSpec> spec = prepare_launch({.wanted = task.wanted,
                                             .runtime = options_.runtime,
                                             .transport = options_.transport,
                                             .data_roots = options_.data_roots,
                                             .data_cache = options_.data_cache,
                                             .folder = task.files.folder,
                                             .gpus = options_.gpus,
                                             .restore_folder = workdir_.restore_folder(key)});
  if (!spec)
    return {
        start_failed(task, reason_of(spec.error(), Reason::start_failed), spec.error().message)};
  if (!task.started_at.is_set()) task.started_at = now.wall;
  task.stage = Task::Stage::starting;
  starter_.add(
      key, {.program = *std::move(spec), .returns = task.returns, .started_at = task.started_at});
  return {};
}

// Of a task that was told to end meanwhile the core says so again when it hears of its start.
std::vector<AgentEvent> TaskRunner::on_launched(const TaskLaunched& launched, const Now& now) {
  const TaskKey& key = launched.key;
  Task& task = tasks_.at(key);
  if (!launched.started) {
    const Error& error = launched.started.error();
    return {start_failed(task, reason_of(error, Reason::start_failed), error.message)};
  }
  task.shim = launched.started->shim;
  task.stage = Task::Stage::running;
  log_info("task_started", {{"task", to_string(key)}, {"pid", launched.started->pid}});
  event_tail_.add(task.files);
  log_shipper_.add(task.files);
  if (shutting_down_) ask_to_end(task, now);
  return {TaskStarted{.key = key, .pid = launched.started->pid, .time = task.started_at}};
}

void TaskRunner::ask_to_end(Task& task, const Now& now) {
  task.kill_at = now.steady + task.wanted.grace;
  static_cast<void>(stop({.key = task.files.key, .signal = StopSignal::terminate}));
}

AgentEvent TaskRunner::start_failed(Task& task, Reason reason, std::string message) {
  task.stage = Task::Stage::done;
  const TaskKey& key = task.wanted.task.key;
  log_warning("task_not_started", {{"task", to_string(key)}, {"error", message}});
  return TaskStartFailed{.key = key, .reason = reason, .message = std::move(message)};
}

AgentEvent TaskRunner::start_failed_in_shutdown(Task& task) {
  return start_failed(task, Reason::agent_stopped, "the agent is shutting down");
}

std::vector<AgentEvent> TaskRunner::stop(const StopTask& order) {
  const auto found = tasks_.find(order.key);
  if (found == tasks_.end()) return {};
  Task& task = found->second;
  if (task.stage == Task::Stage::fetching) {
    fetcher_.cancel(order.key);
    return {start_failed(task, Reason::stopped_with_gang, "stopped before its process started")};
  }
  if (task.stage == Task::Stage::running) {
    const bool kill = order.signal == StopSignal::kill;
    log_info("task_signalled",
             {{"task", to_string(order.key)}, {"signal", kill ? "SIGKILL" : "SIGTERM"}});
    if (kill) {
      processes_.kill(task.shim);
    } else {
      processes_.terminate(task.shim);
    }
  }
  return {};
}

void TaskRunner::save(const TaskKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second.files.folder.empty()) return;
  log_info("task_is_to_save", {{"task", to_string(key)}});
  const Status written = write_file_durably(found->second.files.save_order(), "");
  if (!written) log_warning("task_not_told", {{"error", written.error().message}});
}

std::vector<AgentEvent> TaskRunner::handle(const RunnerEvent& event, const Now& now) {
  if (const auto* launched = std::get_if<TaskLaunched>(&event)) return on_launched(*launched, now);
  if (const auto* gone = std::get_if<ProcessGone>(&event)) return {on_process_gone(*gone, now)};
  if (const auto* delivered = std::get_if<PartDelivered>(&event)) return on_delivered(*delivered);

  const auto& fetched = std::get<RestoreFetched>(event);
  const auto found = tasks_.find(fetched.key);
  if (found == tasks_.end() || found->second.stage != Task::Stage::fetching) return {};
  if (fetched.status) return launch(found->second, now);
  return {start_failed(found->second, reason_of(fetched.status.error(), Reason::checkpoint_lost),
                       "cannot fetch its checkpoint: " + fetched.status.error().message)};
}

AgentEvent TaskRunner::on_process_gone(const ProcessGone& gone, const Now& now) {
  Task& task = tasks_.at(gone.key);  // forgotten only once it is gone
  task.stage = Task::Stage::ended;
  log_info("task_exited", {{"task", to_string(gone.key)}, {"with", describe(gone.end.exit)}});

  Knowledge known = knowledge_of(gone.end, task.files.folder);
  // Of whom this start has told to end the core knows why.
  const bool is_stopped =
      (shutting_down_ || gone.end.was_told) && known.reason != Reason::oom_killed;
  if (is_stopped && gone.end.exit.code != 0) known = {Reason::agent_stopped, ""};
  return TaskExited{.key = gone.key,
                    .exit = gone.end.exit,
                    .reason = known.reason,
                    .log_tail = to_valid_utf8(last_lines(task.files.log(), log_tail_lines)),
                    .time = gone.end.time.value_or(now.wall),
                    .message = known.message,
                    .outlived_lease = gone.end.outlived_lease};
}

void TaskRunner::deliver(const TaskKey& key) {
  Task& task = tasks_.at(key);
  task.stage = Task::Stage::delivering;
  task.undelivered = {Part::events, Part::files, Part::log};
  event_tail_.finish(key);
  log_shipper_.finish(key);
}

std::vector<AgentEvent> TaskRunner::on_delivered(const PartDelivered& delivered) {
  const auto found = tasks_.find(delivered.key);
  if (found == tasks_.end()) return {};
  Task& task = found->second;
  task.undelivered.erase(delivered.part);
  // With the last event read, the last file has been announced.
  if (delivered.part == Part::events) uploader_.finish(delivered.key);
  if (!task.undelivered.empty()) return {};
  task.stage = Task::Stage::done;
  return {TaskOutputDelivered{.key = delivered.key}};
}

bool TaskRunner::pass_on(const TailedEvents& events) {
  for (const RunEvent& event : events.events) {
    for (AnnouncedFile& file : announced_files(events.task, event)) {
      // What an earlier start has brought to the server it has removed here.
      if (events.task.is_found && is_missing(events.task.folder + "/" + file.file.name)) continue;
      if (!uploader_.add(std::move(file))) return false;
    }
  }
  return callbacks_.on_run_events(
      {.key = events.task.key, .events = events.events, .end = events.end});
}

void TaskRunner::forget(const TaskKey& key) {
  fetcher_.cancel(key);
  event_tail_.forget(key);
  uploader_.forget(key);
  log_shipper_.forget(key);
  tasks_.erase(key);
  workdir_.remove_task_folder(key);
}

void TaskRunner::stored(const TaskKey& key, std::int64_t end) { event_tail_.stored(key, end); }

std::vector<AgentEvent> TaskRunner::shut_down(const Now& now) {
  shutting_down_ = true;
  std::vector<AgentEvent> events;
  for (auto& [key, task] : tasks_) {
    if (task.stage == Task::Stage::running) {
      ask_to_end(task, now);
      continue;
    }
    const auto said = stop({.key = key, .signal = StopSignal::terminate});
    events.insert(events.end(), said.begin(), said.end());
  }
  return events;
}

void TaskRunner::tick(const Now& now) {
  for (auto& [key, task] : tasks_) {
    if (!task.kill_at || now.steady < *task.kill_at) continue;
    task.kill_at.reset();
    static_cast<void>(stop({.key = key, .signal = StopSignal::kill}));
  }
}

bool TaskRunner::has_processes() const {
  return std::ranges::any_of(tasks_, [](const auto& entry) {
    const Task::Stage stage = entry.second.stage;
    return stage == Task::Stage::starting || stage == Task::Stage::running;
  });
}

}  // namespace trainyard::agent
