#include "scheduler/core/state.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/brief.h"
#include "schemas/base/check.h"

namespace trainyard::scheduler {
namespace {

std::vector<int> slots_of(const HostInfo& host) {
  std::vector<int> slots;
  for (std::int64_t i = 0; i < host.capacity.gpus; ++i) {
    const auto at = static_cast<std::size_t>(i);
    slots.push_back(at < host.gpus.size() ? host.gpus[at].index : static_cast<int>(i));
  }
  return slots;
}

std::int64_t port_count(const HostInfo& host) {
  return std::max(0, host.last_port - host.first_port + 1);
}

// Goes round the range, so that a port just freed, or one that another program holds, is not next
// again.
int take_port(LiveAgent& agent) {
  const HostInfo& host = agent.record.host;
  const auto in_range = [&host](int port) {
    return port < host.first_port || port > host.last_port ? host.first_port : port;
  };
  int port = in_range(agent.next_port);
  while (agent.taken_ports.contains(port)) port = in_range(port + 1);
  agent.taken_ports.insert(port);
  agent.next_port = port + 1;
  return port;
}

bool has_task_of(const LiveAgent& agent, const JobId& job) {
  const auto first = agent.tasks.lower_bound({job, 0, Role::ps, 0});
  return first != agent.tasks.end() && first->job == job;
}

// What is said of a job is said once for all its tasks.
void add_task(LiveAgent& agent, const JobSpec& spec, const TaskKey& task) {
  if (!has_task_of(agent, task.job)) agent.brief_bytes += brief_bytes(spec);
  agent.tasks.insert(task);
}

}  // namespace

const LiveTask* LiveJob::find(const TaskKey& key) const {
  const auto key_of = [](const LiveTask& task) -> const TaskKey& { return task.row.key; };
  const auto found = std::ranges::lower_bound(tasks, key, {}, key_of);
  return found != tasks.end() && found->row.key == key ? &*found : nullptr;
}

LiveTask* LiveJob::find(const TaskKey& key) {
  return const_cast<LiveTask*>(std::as_const(*this).find(key));
}

LiveJob* State::job(const JobId& id) {
  const auto found = jobs.find(id);
  return found == jobs.end() ? nullptr : &found->second;
}

LiveAgent* State::agent(const AgentId& id) {
  const auto found = agents.find(id);
  return found == agents.end() ? nullptr : &found->second;
}

LiveTask* State::task(const TaskKey& key) {
  LiveJob* const owner = job(key.job);
  return owner == nullptr ? nullptr : owner->find(key);
}

Host host_of(const LiveAgent& agent, Room room) {
  const HostInfo& info = agent.record.host;
  const std::int64_t ports = port_count(info);
  if (room == Room::when_empty) return {agent.record.id, info.capacity, ports, &info.labels};
  const auto taken = static_cast<std::int64_t>(agent.taken_ports.size());
  return {agent.record.id, agent.free, ports - taken, &info.labels,
          briefs_bytes_max - agent.brief_bytes};
}

bool takes_tasks(const LiveAgent& agent) {
  return agent.record.state == AgentState::ready && agent.heard && !agent.has_strays;
}

bool is_expected(const LiveAgent& agent) { return agent.record.state == AgentState::ready; }

void clear_slots(LiveAgent& agent) {
  const std::vector<int> slots = slots_of(agent.record.host);
  agent.free = agent.record.host.capacity;
  agent.free_gpus = {slots.begin(), slots.end()};
  agent.taken_ports.clear();
  agent.brief_bytes = 0;
  agent.tasks.clear();
}

void occupy(LiveAgent& agent, const JobSpec& spec, TaskAttempt& task) {
  ENSURE(fits(task.resources, agent.free));
  for (std::int64_t i = 0; i < task.resources.gpus; ++i) {
    task.gpus.push_back(*agent.free_gpus.begin());
    agent.free_gpus.erase(agent.free_gpus.begin());
  }
  agent.free = agent.free - task.resources;
  task.port = take_port(agent);
  add_task(agent, spec, task.key);
}

void occupy_again(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task) {
  for (const int slot : task.gpus) agent.free_gpus.erase(slot);
  agent.free = agent.free - task.resources;
  if (task.port != 0) agent.taken_ports.insert(task.port);
  agent.next_port = std::max(agent.next_port, task.port + 1);
  add_task(agent, spec, task.key);
}

void vacate(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task) {
  agent.tasks.erase(task.key);
  if (!has_task_of(agent, task.key.job)) agent.brief_bytes -= brief_bytes(spec);
  agent.free_gpus.insert(task.gpus.begin(), task.gpus.end());
  agent.free = agent.free + task.resources;
  agent.taken_ports.erase(task.port);
}

bool all_gone(const LiveJob& job) {
  return std::ranges::all_of(job.tasks,
                             [](const LiveTask& task) { return is_terminal(task.row.state); });
}

}  // namespace trainyard::scheduler
