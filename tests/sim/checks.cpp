// What must never happen in the world, looked at where it would: when a process starts, and when a
// job's row is saved. (The rows check themselves in database.cpp, the core's beliefs in
// server.cpp.)
#include <algorithm>

#include "tests/sim/users.h"
#include "tests/sim/world.h"

namespace trainyard::sim {

void World::check_start(Host& host, const Process& process) {
  const TaskKey& key = process.key();
  const JobSpec& spec = process.wanted.task.spec;
  const bool may_return =
      returns_alone(spec, key) && process.returns <= spec.run_policy.max_restarts;
  const bool is_new = started_.insert(key).second;
  if (is_new != (process.returns == 0) || (!is_new && !may_return)) {
    journal_.fault(to_string(key) + " starts a second time");
  }
  if (database_.has_ended(key)) journal_.fault(to_string(key) + " starts after its end");
  for (const auto& each : hosts_) {
    for (const auto& [other, peer] : each->processes()) {
      if (peer.is_alive && other.job == key.job && other.attempt != key.attempt) {
        journal_.fault(to_string(key) + " starts while " + to_string(other) + " lives");
      }
    }
  }
  check_capacity(host, process);
  check_restore(process);
}

void World::check_capacity(Host& host, const Process& process) {
  Resources used = process.wanted.resources;
  std::set<int> slots(process.wanted.gpus.begin(), process.wanted.gpus.end());
  std::set<int> ports;
  const auto take_ports = [&](const TaskContext& task) {
    if (task.listen.empty()) return;
    const int port = std::stoi(task.listen.substr(task.listen.rfind(':') + 1));
    const bool free = ports.insert(port).second && ports.insert(task.rows_port).second;
    if (!free) journal_.fault("a port of " + host.id().text + " is used twice");
  };
  take_ports(process.wanted.task);
  for (const auto& [key, peer] : host.processes()) {
    if (!peer.is_alive || key == process.key()) continue;
    used = used + peer.wanted.resources;
    for (const int slot : peer.wanted.gpus) {
      if (!slots.insert(slot).second)
        journal_.fault("a gpu of " + host.id().text + " is used twice");
    }
    take_ports(peer.wanted.task);
  }
  if (!fits(used, host.info().capacity)) journal_.fault(host.id().text + " is overcommitted");
}

// Who runs again goes on from the newest committed checkpoint, never from an older one.
void World::check_restore(const Process& process) {
  const TaskKey& key = process.key();
  const Checkpoint* const newest = database_.newest_committed(key.job, key.attempt);
  const auto& restore = process.wanted.restore;
  if (newest == nullptr || !holds_parameters(process.wanted.task.spec, key.role)) return;
  if (!restore || restore->job != key.job || restore->step != newest->step) {
    journal_.fault(to_string(key) + " does not resume from step " + std::to_string(newest->step));
  }
}

namespace {

// The last transition that `fits`.
template <class Fits>
const Transition* last_of(const Job& job, Fits fits) {
  const auto found = std::find_if(job.transitions.rbegin(), job.transitions.rend(), fits);
  return found == job.transitions.rend() ? nullptr : &*found;
}

// When the first attempt began to run that the job has made since it slept.
WallTime runs_since(const Job& job) {
  WallTime since;
  for (const Transition& past : job.transitions) {
    if (past.from == JobState::suspended) since = {};
    if (past.to == JobState::running && !since.is_set()) since = past.time;
  }
  return since;
}

}  // namespace

// No limit that did not run out.
void World::check_limits(const Job& job) {
  const std::string name = "job " + job.id.text + " ";
  const Transition* const stop =
      last_of(job, [](const Transition& past) { return past.to == JobState::stopping; });
  if (stop == nullptr) return;
  const auto too_early = [&](WallTime since, std::int64_t limit) {
    return !since.is_set() || clock_.wall() - since < seconds(limit);
  };
  const RunPolicySpec& policy = job.spec.run_policy;
  if (job.reason == Reason::run_timeout && too_early(runs_since(job), *policy.max_run_seconds)) {
    journal_.fault(name + "did not run out of its time");
  }
  if (stop->reason == Reason::queue_timeout &&
      too_early(job.queued_at, *job.spec.scheduling.max_queued_seconds)) {
    journal_.fault(name + "did not wait too long");
  }
  if (stop->reason != Reason::no_progress || stop->time != clock_.wall()) return;
  const Transition* const began =
      last_of(job, [](const Transition& past) { return past.to == JobState::starting; });
  if (too_early(began->time, policy.no_progress_timeout_seconds)) {
    journal_.fault(name + "had made progress");
  }
}

// "agent a is drained"
bool World::is_of_drained_agent(const std::string& message) const {
  return std::ranges::any_of(hosts_, [&](const auto& host) {
    return users_->have_drained(host->id()) &&
           message == "agent " + host->id().text + " is drained";
  });
}

// Every end has its cause, and no restart is left uncounted.
void World::check_ending(const Job& job) {
  const std::string name = "job " + job.id.text + " ";
  const Restarts& restarts = job.restarts;
  const auto counted = std::ranges::count_if(job.transitions, [](const Transition& past) {
    return past.from == JobState::stopping && past.to == JobState::queued &&
           past.reason != Reason::user_resumed && past.reason != Reason::agent_drained;
  });
  if (restarts.user + restarts.infra != counted) {
    journal_.fault(name + "has restarts that were not counted, or did not happen");
  }
  if (restarts.user > job.spec.run_policy.max_restarts) {
    journal_.fault(name + "was tried too often");
  }
  using enum scheduler::JobAction;
  if (job.state == JobState::cancelled && !users_->asked_for(job.id, cancel)) {
    journal_.fault(name + "was cancelled by nobody");
  }
  if (job.state == JobState::suspended && !users_->asked_for(job.id, suspend)) {
    journal_.fault(name + "was suspended by nobody");
  }
  for (const Transition& past : job.transitions) {
    const bool is_moved = past.to == JobState::stopping && past.reason == Reason::agent_drained;
    if (is_moved && !is_of_drained_agent(past.message)) {
      journal_.fault(name + "was moved by nobody: " + past.message);
    }
  }
  const bool exhausted = job.reason == Reason::restarts_exhausted;
  if (exhausted && restarts.user < job.spec.run_policy.max_restarts) {
    journal_.fault(name + "had restarts left");
  }
  check_limits(job);
}

// Everything has ended: what it held is given back.
void World::check_at_rest() {
  const Time deadline = clock_.now() + seconds(60);
  while (clock_.now() < deadline) clock_.advance();
  server_.check_at_rest();
  for (const auto& host : hosts_) {
    // Who is refused because of its name is told nothing, and keeps what has ended.
    const auto same_name = [&host](const auto& other) { return other->id() == host->id(); };
    const bool is_heard = std::ranges::count_if(hosts_, same_name) == 1;
    const bool lives = std::ranges::any_of(host->processes(),
                                           [](const auto& entry) { return entry.second.is_alive; });
    if (lives || (is_heard && !host->is_idle())) {
      journal_.fault(host->name() + " keeps what nobody wants");
    }
  }
}

// A job that is shown to be at rest has no process anywhere.
void World::check_saved_job(const Job& job) {
  check_ending(job);
  const bool at_rest =
      is_terminal(job.state) || job.state == JobState::suspended || job.state == JobState::queued;
  if (!at_rest) return;
  for (const auto& each : hosts_) {
    for (const auto& [key, process] : each->processes()) {
      if (process.is_alive && key.job == job.id) {
        journal_.fault("job " + job.id.text + " is " + std::string(name_of(job.state)) + " and " +
                       to_string(key) + " lives");
      }
    }
  }
}

}  // namespace trainyard::sim
