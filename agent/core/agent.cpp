#include "agent/core/agent.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trainyard::agent {

struct Agent::Moment {
  const Now now;
  std::vector<Action> actions;

  void act(Action action) { actions.push_back(std::move(action)); }
  void report_soon() {
    const auto is_report = [](const Action& a) { return std::holds_alternative<ReportSoon>(a); };
    if (std::ranges::none_of(actions, is_report)) act(ReportSoon{});
  }
};

Agent::Agent(AgentOptions options, Time now)
    : options_(std::move(options)), lease_(options_.lease.value_or(Lease(now))) {}

std::vector<Action> Agent::step(const AgentEvent& event, const Now& now) {
  Moment moment{now, {}};
  std::visit([&](const auto& kind) { take(kind, moment); }, event);
  return std::move(moment.actions);
}

AgentReport Agent::next_report() {
  AgentReport report{.agent = options_.id,
                     .instance = options_.instance,
                     .epoch = options_.epoch,
                     .number = ++last_number_,
                     .generation = generation_,
                     .leaving = leaving_,
                     .host = options_.host,
                     .tasks = {}};
  ReportRoom room;
  std::optional<TaskKey> cut_short;
  const auto show = [&](auto from, auto to) {
    for (; from != to; ++from) {
      report.tasks.push_back(shown(from->second, room));
      if (room.was_short && !cut_short) cut_short = from->first;
    }
  };
  const auto first = cut_short_ ? tasks_.lower_bound(*cut_short_) : tasks_.begin();
  show(first, tasks_.end());
  show(tasks_.begin(), first);
  report.gpus = gpus_;
  cut_short_ = cut_short;
  left_some_out_ = room.left_some_out;
  return report;
}

bool Agent::lease_has_expired(Time now) const {
  return options_.fences.lease == Fence::kept && lease_.has_expired(now);
}

void Agent::take(const AssignmentArrived& event, Moment& moment) {
  const Assignment& assignment = event.assignment;
  const Fences& fences = options_.fences;
  const bool is_mine =
      assignment.instance == options_.instance && assignment.epoch == options_.epoch;
  if (fences.epoch == Fence::kept && !is_mine) return;
  lease_.answered(assignment.answers, assignment.stop_after);
  if (fences.generation == Fence::kept && assignment.generation < generation_) return;
  // It was so long on its way that what it wants may have been given to others.
  if (lease_has_expired(moment.now.steady)) return;
  apply(assignment, moment);
}

void Agent::apply(const Assignment& assignment, Moment& moment) {
  if (assignment.generation != generation_) moment.report_soon();
  generation_ = assignment.generation;
  std::set<TaskKey> listed;
  for (const WantedTask& wanted : assignment.tasks) {
    listed.insert(wanted.task.key);
    want(wanted, moment);
  }
  std::vector<TaskKey> unlisted;
  for (auto& [key, task] : tasks_) {
    if (!listed.contains(key)) unlisted.push_back(key);
  }
  for (const TaskKey& key : unlisted) {
    HostedTask& task = tasks_.at(key);
    task.is_wanted = false;
    if (!task.is_gone()) kill(task, moment);
    forget_if_done(key, moment);
  }
  take_held_exits(moment);
}

void Agent::take_held_exits(Moment& moment) {
  for (const TaskExited& exit : std::exchange(held_exits_, {})) take(exit, moment);
}

void Agent::want(const WantedTask& wanted, Moment& moment) {
  const auto found = tasks_.find(wanted.task.key);
  if (found == tasks_.end()) {
    // A server that has not yet heard that we leave sees in the next report that it is not here.
    if (wanted.stop == StopOrder::stop || leaving_) return;
    tasks_[wanted.task.key].wanted = wanted;
    moment.act(StartTask{wanted});
    return obey(tasks_.at(wanted.task.key), wanted.stop, moment);
  }
  HostedTask& task = found->second;
  // What made room for more is followed by more. A server that stores nothing gets heartbeats.
  if (forget_events(task, wanted.events_stored) && left_some_out_) moment.report_soon();
  obey(task, wanted.stop, moment);
}

void Agent::obey(HostedTask& task, StopOrder order, Moment& moment) {
  if (task.is_gone()) return;
  if (order == StopOrder::stop) return ask_to_stop(task, moment);
  if (order == StopOrder::run || std::exchange(task.was_told_to_save, true)) return;
  moment.act(SaveTask{task.wanted.task.key});
}

void Agent::ask_to_stop(HostedTask& task, Moment& moment) {
  if (task.kill_at) return;
  task.kill_at = moment.now.steady + task.wanted.grace;
  moment.act(StopTask{task.wanted.task.key, StopSignal::terminate});
}

void Agent::kill(HostedTask& task, Moment& moment) {
  if (std::exchange(task.was_killed, true)) return;
  moment.act(StopTask{task.wanted.task.key, StopSignal::kill});
}

void Agent::forget_if_done(const TaskKey& key, Moment& moment) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second.is_wanted || !found->second.is_gone()) return;
  tasks_.erase(found);
  moment.act(ForgetTask{key});
}

void Agent::take(const ReportSent& event, Moment& moment) {
  lease_.sent(event.number, moment.now.steady);
}

void Agent::take(const Leaving&, Moment& moment) {
  leaving_ = true;
  take_held_exits(moment);
  moment.report_soon();
}

void Agent::take(const ConnectionRefused&, Moment& moment) { lease_.refused(moment.now.steady); }

void Agent::take(const TaskFound& event, Moment& moment) {
  tasks_.insert_or_assign(event.wanted.task.key, found_task(event));
  moment.report_soon();
}

void Agent::take(const TaskStarted& event, Moment& moment) {
  const auto found = tasks_.find(event.key);
  if (found == tasks_.end()) return;
  HostedTask& task = found->second;
  begin(task, event);
  moment.report_soon();
  // Whoever was told to go while it was being prepared may not have heard it.
  if (task.was_killed) {
    moment.act(StopTask{event.key, StopSignal::kill});
  } else if (task.kill_at) {
    moment.act(StopTask{event.key, StopSignal::terminate});
  }
}

void Agent::take(const TaskStartFailed& event, Moment& moment) {
  const auto found = tasks_.find(event.key);
  if (found == tasks_.end()) return;
  fail_to_begin(found->second, event, moment.now.wall);
  if (!found->second.output_delivered) moment.act(DeliverOutput{event.key});
  moment.report_soon();
  forget_if_done(event.key, moment);
}

// Who was killed by a signal that nobody sent on purpose said nothing of why, and may do better the
// next time. Who ended by itself knew why, and would do it again.
bool Agent::may_return(const HostedTask& task, const TaskExited& event, Time now) const {
  const JobSpec& spec = task.wanted.task.spec;
  const bool was_told = !task.is_wanted || task.kill_at || task.was_killed || leaving_ ||
                        event.outlived_lease || lease_has_expired(now);
  return returns_alone(spec, event.key) && event.exit.signal && event.reason == Reason::none &&
         !was_told && task.returns < spec.run_policy.max_restarts;
}

void Agent::take(const TaskExited& event, Moment& moment) {
  const auto found = tasks_.find(event.key);
  if (found == tasks_.end()) return;
  moment.report_soon();
  if (may_return(found->second, event, moment.now.steady)) {
    // The signal may be of an earlier start, which was told that the task is to end; then its slots
    // may be another's by now.
    const bool is_told = generation_ > 0 || options_.fences.told_first == Fence::removed;
    if (!is_told) return held_exits_.push_back(event);
    begin_again(found->second);
    return moment.act(RestartTask{event.key, found->second.returns});
  }
  end(found->second, event);
  moment.act(DeliverOutput{event.key});
  forget_if_done(event.key, moment);
}

void Agent::take(const RunEventsRead& event, Moment& moment) {
  const auto found = tasks_.find(event.key);
  if (found == tasks_.end()) return;
  read(found->second, event);
  moment.report_soon();
}

void Agent::take(const TaskOutputDelivered& event, Moment& moment) {
  const auto found = tasks_.find(event.key);
  if (found == tasks_.end()) return;
  found->second.output_delivered = true;
  moment.report_soon();
}

// A task that has just ended counts: what was read of its process may be a moment older.
bool Agent::is_of_task_on(int slot, const GpuUser& user) const {
  return std::ranges::any_of(tasks_, [&](const auto& entry) {
    const HostedTask& task = entry.second;
    return std::ranges::count(task.wanted.gpus, slot) > 0 && task.pid != 0 &&
           std::ranges::count(user.kin, task.pid) > 0;
  });
}

std::vector<GpuProcess> Agent::strangers_among(const std::vector<GpuUser>& users, int slot) const {
  std::vector<GpuProcess> strangers;
  for (const GpuUser& user : users) {
    if (!is_of_task_on(slot, user)) strangers.push_back(user.process);
  }
  std::ranges::sort(strangers, {}, [](const GpuProcess& process) {
    return std::pair(-process.memory_mb.value_or(0), process.pid);
  });
  if (strangers.size() > gpu_strangers_max) strangers.resize(gpu_strangers_max);
  return strangers;
}

// The driver numbers those that are left anew when one is gone: the UUID says which it is.
std::optional<int> Agent::slot_of(const GpusRead::Gpu& gpu) const {
  const std::vector<GpuInfo>& offered = options_.host.gpus;
  const auto of_uuid = std::ranges::find(offered, gpu.uuid, &GpuInfo::uuid);
  if (!gpu.uuid.empty() && of_uuid != offered.end()) return of_uuid->index;
  const auto of_index = std::ranges::find(offered, gpu.reading.index, &GpuInfo::index);
  if (of_index == offered.end()) return std::nullopt;
  const bool is_another = !gpu.uuid.empty() && !of_index->uuid.empty();
  return is_another ? std::nullopt : std::optional(of_index->index);
}

void Agent::take(const GpusRead& event, Moment& moment) {
  const std::vector<GpuReading> before = std::exchange(gpus_, {});
  for (const GpusRead::Gpu& gpu : event.gpus) {
    const std::optional<int> slot = slot_of(gpu);
    if (!slot || std::ranges::count(gpus_, *slot, &GpuReading::index) > 0) continue;
    GpuReading& reading = gpus_.emplace_back(gpu.reading);
    reading.index = *slot;
    reading.strangers = strangers_among(gpu.users, *slot);
  }
  // The rest changes all the time, and leaves with the next heartbeat.
  if (!std::ranges::equal(before, gpus_, {}, &GpuReading::strangers, &GpuReading::strangers)) {
    moment.report_soon();
  }
}

void Agent::take(const Tick&, Moment& moment) {
  const bool expired = lease_has_expired(moment.now.steady);
  for (auto& [key, task] : tasks_) {
    if (task.is_gone()) continue;
    if (expired) task.outlived_lease = true;
    const bool grace_is_over = task.kill_at && moment.now.steady >= *task.kill_at;
    if (expired || grace_is_over) kill(task, moment);
  }
}

}  // namespace trainyard::agent
