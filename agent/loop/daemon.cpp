#include "agent/loop/daemon.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "agent/core/report_pace.h"
#include "agent/host/ports.h"
#include "agent/link/scheduler_stream.h"
#include "agent/loop/gpu_rates.h"
#include "agent/loop/gpu_watch.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/types/data_roots.h"

namespace trainyard::agent {
namespace {

constexpr std::size_t inbox_length_max = 65536;
// What can be offered again (run events, assignments) stops here, so that there is always room for
// what cannot: each running task ends once.
constexpr std::size_t inbox_length_soft_max = 1024;

constexpr Millis tick_interval{100};
constexpr Millis farewell_time{5000};  // for the last words, once all processes are gone

// What a person should know of what was set, once at the start.
void say_what_to_know(const DaemonOptions& options) {
  const HostInfo& host = options.host;
  log_info("data_roots",
           {{"data_roots", join_data_roots(options.data_roots)},
            {"message", options.data_roots.empty()
                            ? "jobs may read all that this agent's user may: --data-root limits it"
                            : "jobs may read data in these folders alone"}});
  const std::optional<PortRange> taken = ephemeral_ports();
  if (!taken || host.last_port < taken->first || host.first_port > taken->last) return;
  log_warning("ports_are_ephemeral",
              {{"ports", std::to_string(host.first_port) + "-" + std::to_string(host.last_port)},
               {"message", "the system takes ports " + std::to_string(taken->first) + "-" +
                               std::to_string(taken->last) +
                               " for outgoing connections (net.ipv4.ip_local_port_range): a port of"
                               " a task may be in use when it starts; choose --ports outside"}});
}

DataCacheSpec data_cache_of(const DaemonOptions& options) {
  if (options.data_cache_mb == 0) return {};
  return {.folder = std::filesystem::absolute(options.work_dir) / "data-cache",
          .bytes_max = options.data_cache_mb << 20};
}

// What is left of it: a clock that did not run on, or a file of nonsense, leaves nothing.
Lease lease_in(const LeaseFile& file, Time now, Lease::Giver giver) {
  const auto left = file.read().value_or(LeaseFile::Content{now, seconds(1)});
  const Time end = left.end <= now + left.stop_after ? left.end : now;
  return Lease(end - left.stop_after, left.stop_after, giver);
}

}  // namespace

// What an earlier start has left to this one.
struct Daemon::Start {
  const Workdir& workdir;
  LeaseFile& lease_file;
  std::optional<Lease> lease;
};

// One run of the daemon, from the opened work folder to its end. All of it is of the daemon's
// thread; the callbacks of others only post.
class Daemon::Session {
 public:
  Session(const DaemonOptions& options, const Start& start, Daemon& daemon)
      : daemon_(daemon),
        inbox_(daemon.inbox_),
        workdir_(start.workdir),
        lease_file_(start.lease_file),
        core_({.id = options.id,
               .instance = workdir_.instance(),
               .epoch = workdir_.epoch(),
               .host = options.host,
               .lease = start.lease},
              steady_now()),
        runner_({.server = options.server,
                 .runtime = options.runtime,
                 .shim = options.shim,
                 .transport = options.transport,
                 .listen_host =
                     options.listen_host.empty() ? options.host.address : options.listen_host,
                 .data_roots = options.data_roots,
                 .log_bytes_max = options.log_bytes_max,
                 .allowed_env = options.host.allowed_env,
                 .data_cache = data_cache_of(options),
                 .gpus = options.host.gpus},
                workdir_,
                {.on_event = [this](RunnerEvent event) { post(std::move(event)); },
                 .on_run_events =
                     [this](RunEventsRead events) { return post_if_room(std::move(events)); }}),
        gpu_watch_(options.nvml_library,
                   [this](GpusRead gpus) { post_if_room(AgentEvent{std::move(gpus)}); }),
        stream_(options.server, {.on_connected = [this] { post(StreamConnected{}); },
                                 .on_writable = [this] { post(StreamWritable{}); },
                                 .on_assignment =
                                     [this](Assignment assignment) {
                                       post_if_room(AssignmentArrived{std::move(assignment)});
                                     },
                                 .on_refused = [this] { post_if_room(ConnectionRefused{}); }}) {}

  ~Session() { stream_.stop(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run(const std::vector<FoundTask>& found) {
    daemon_.renew(lease_file_, core_.lease());
    runner_.run();
    // Before the first report, which is to show them.
    for (const FoundTask& task : found) apply(runner_.go_on(task), read_clocks());
    // The first report knows of strangers, too: it may be answered with tasks.
    apply(gpu_watch_.read(), read_clocks());
    gpu_watch_.run();
    stream_.run();
    while (!may_leave(steady_now())) {
      for (DaemonEvent& event : inbox_.take_all(time_until_due())) handle(event);
      const Now now = read_clocks();
      if (now.steady >= next_tick_) {
        next_tick_ = now.steady + tick_interval;
        apply(Tick{}, now);
        runner_.tick(now);
      }
      report_when_due(now);
    }
  }

 private:
  void post(DaemonEvent event) {
    if (!inbox_.post(std::move(event))) log_error("inbox_full");
  }

  bool post_if_room(AgentEvent event) {
    return inbox_.size() < inbox_length_soft_max && inbox_.post(std::move(event));
  }

  void handle(DaemonEvent& event) {
    const Now now = read_clocks();
    std::visit([&](auto& kind) { handle(kind, now); }, event);
  }

  void handle(const AgentEvent& event, const Now& now) {
    if (const auto* arrived = std::get_if<AssignmentArrived>(&event)) {
      for (const WantedTask& task : arrived->assignment.tasks) {
        runner_.stored(task.task.key, task.events_stored);
      }
      pace_.answered(arrived->assignment.answers);
      if (!std::exchange(answered_, true)) log_info("connected");
    }
    apply(event, now);
  }

  void handle(const RunnerEvent& event, const Now& now) {
    apply_all(runner_.handle(event, now), now);
  }

  void handle(const StreamConnected&, const Now& now) {
    connected_ = true;
    answered_ = false;
    pace_.connected(now.steady);
  }

  void handle(const StreamWritable&, const Now&) { pace_.room_came(); }

  void handle(const StopRequested&, const Now& now) {
    if (stopping_) return;
    stopping_ = true;
    log_info("stopping", {{"has_tasks", core_.has_tasks()}});
    apply(Leaving{}, now);
    apply_all(runner_.shut_down(now), now);
  }

  void apply_all(const std::vector<AgentEvent>& events, const Now& now) {
    for (const AgentEvent& event : events) apply(event, now);
  }

  void apply(const AgentEvent& event, const Now& now) {
    const std::vector<Action> actions = core_.step(event, now);
    // First: a task that is started now has this lease, whatever becomes of this agent.
    daemon_.renew(lease_file_, core_.lease());
    for (const Action& action : actions) {
      std::visit([&](const auto& kind) { perform(kind, now); }, action);
    }
  }

  void perform(const StartTask& action, const Now& now) {
    apply_all(runner_.start(action.task, now), now);
  }
  void perform(const RestartTask& action, const Now& now) {
    apply_all(runner_.restart(action, now), now);
  }
  void perform(const DeliverOutput& action, const Now&) { runner_.deliver(action.key); }
  void perform(const StopTask& action, const Now& now) { apply_all(runner_.stop(action), now); }
  void perform(const SaveTask& action, const Now&) { runner_.save(action.key); }
  void perform(const ForgetTask& action, const Now&) { runner_.forget(action.key); }
  void perform(const ReportSoon&, const Now& now) { pace_.hurry(now.steady); }

  void report_when_due(const Now& now) {
    if (!pace_.is_due(now.steady)) return;
    const AgentReport report = core_.next_report();
    apply(ReportSent{report.number},
          now);  // before it leaves: the lease counts from no later than that
    pace_.tried();
    if (!stream_.send(report)) return;  // the stream says when there is another
    if (stopping_ && !farewell_ && shows_no_process(report)) farewell_ = report.number;
    pace_.left(report, now.steady);
  }

  [[nodiscard]] std::chrono::milliseconds time_until_due() const {
    const Millis left = pace_.due(next_tick_) - steady_now();
    return std::chrono::milliseconds(std::clamp<std::int64_t>(left.count, 0, tick_interval.count));
  }

  // Once the processes are gone the server is told so, if it can be.
  bool may_leave(Time now) {
    if (!stopping_ || runner_.has_processes()) return false;
    if (!leave_at_) {
      leave_at_ = now + farewell_time;
      pace_.hurry(now);
    }
    // Who never reached a server has nobody to tell.
    const bool nothing_to_tell = !core_.has_tasks() && !connected_;
    return now >= *leave_at_ || nothing_to_tell || (farewell_ && pace_.is_answered(*farewell_));
  }

  Daemon& daemon_;
  Inbox<DaemonEvent>& inbox_;
  const Workdir& workdir_;
  LeaseFile& lease_file_;
  Agent core_;

  Time next_tick_;
  ReportPace pace_;

  bool connected_ = false;  // ever
  bool answered_ = false;   // on the stream that is up: it may be refused instead
  bool stopping_ = false;
  std::optional<Time> leave_at_;
  std::optional<std::int64_t> farewell_;  // number of the first report that shows that all is over

  // Last, so that their threads end before what they post to.
  TaskRunner runner_;
  GpuWatch gpu_watch_;
  SchedulerStream stream_;
};

Daemon::Daemon(DaemonOptions options) : options_(std::move(options)), inbox_(inbox_length_max) {}

Status Daemon::run() {
  TRY_ASSIGN(const Workdir workdir, Workdir::open(options_.work_dir));
  const std::vector<FoundTask> found = find_tasks(workdir);
  std::set<TaskKey> keys;
  for (const FoundTask& task : found) keys.insert(task.wanted.task.key);
  TRY(workdir.end_leftovers(keys));
  TRY_ASSIGN(LeaseFile lease_file, LeaseFile::open(workdir.lease_file()));
  TRY_ASSIGN(const bool is_same_server, workdir.has_same_server(options_.server));
  log_info("connecting", {{"server", options_.server},
                          {"name", options_.id.text},
                          {"epoch", workdir.epoch()},
                          {"work_dir", options_.work_dir},
                          {"address", options_.host.address},
                          {"cpus", options_.host.capacity.cpus},
                          {"memory_mb", options_.host.capacity.memory_mb},
                          {"gpus", options_.host.capacity.gpus}});
  say_what_to_know(options_);
  // Before the server knows of the GPUs: it could give them to tasks meanwhile.
  DaemonOptions options = options_;
  GpuRatesOptions rating{.runtime = options.runtime,
                         .folder = workdir.path(),
                         .file = workdir.gpu_rates_file(),
                         .nvml_library = options.nvml_library};
  // The lease of tasks that were found is not to end meanwhile.
  if (!found.empty()) rating.deadline = std::chrono::milliseconds(0);
  GpuRates rates(rating);
  rates.learn(options.host.gpus, stopped_.get_token());
  std::optional<Lease> lease;
  if (!found.empty()) {
    lease = lease_in(lease_file, steady_now(),
                     is_same_server ? Lease::Giver::this_server : Lease::Giver::unknown);
  }
  Session session(options, {.workdir = workdir, .lease_file = lease_file, .lease = lease}, *this);
  session.run(found);
  log_info("stopped");
  return ok();
}

void Daemon::renew(LeaseFile& file, const Lease& lease) {
  const std::lock_guard lock(lease_mutex_);
  if (lease_is_over_) return;
  const Status written = file.write(lease.end(), lease.stop_after());
  if (!written && !std::exchange(lease_is_unwritten_, true)) {
    log_warning("lease_not_written", {{"error", written.error().message}});
  }
  if (written) lease_is_unwritten_ = false;
}

void Daemon::end_tasks_now() {
  const std::lock_guard lock(lease_mutex_);
  lease_is_over_ = true;
  Result<LeaseFile> file = LeaseFile::open(Workdir::lease_file_of(options_.work_dir));
  if (file) file->end_now();
}

void Daemon::stop() {
  stopped_.request_stop();
  if (!inbox_.post(StopRequested{})) log_error("inbox_full");
}

}  // namespace trainyard::agent
