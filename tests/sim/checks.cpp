// What must never happen in the world, looked at where it would: when a process starts, and when a
// job's row is saved. (The rows check themselves in database.cpp, the core's beliefs in
// server.cpp.)
#include <algorithm>

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
  std::set<std::string> ports{process.wanted.task.listen};
  for (const auto& [key, peer] : host.processes()) {
    if (!peer.is_alive || key == process.key()) continue;
    used = used + peer.wanted.resources;
    for (const int slot : peer.wanted.gpus) {
      if (!slots.insert(slot).second)
        journal_.fault("a gpu of " + host.id().text + " is used twice");
    }
    const std::string& port = peer.wanted.task.listen;
    if (!port.empty() && !ports.insert(port).second) {
      journal_.fault("a port of " + host.id().text + " is used twice");
    }
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

// A job that is shown to be at rest has no process anywhere.
void World::check_saved_job(const Job& job) {
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
