#include "scheduler/core/state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/core/assignment_size.h"
#include "schemas/base/check.h"
#include "schemas/types/task_context.h"

namespace trainyard::scheduler {
namespace {

// As many as the capacity says, whatever is described.
std::vector<GpuInfo> cards_of(const HostInfo& host) {
  std::map<int, GpuInfo> cards;
  for (const GpuInfo& gpu : host.gpus) {
    if (std::cmp_less(cards.size(), host.capacity.gpus)) cards.emplace(gpu.index, gpu);
  }
  for (int next = 0; std::cmp_less(cards.size(), host.capacity.gpus); ++next) {
    cards.emplace(next, GpuInfo{next, {}, 0});
  }
  std::vector<GpuInfo> in_order;
  for (auto& [index, card] : cards) in_order.push_back(std::move(card));
  return in_order;
}

std::int64_t port_count(const HostInfo& host) {
  return std::max(0, host.last_port - host.first_port + 1);
}

// Goes round the range, so that a port just freed is not next again.
template <class MayTake>
std::optional<int> next_port(const LiveAgent& agent, const MayTake& may_take) {
  const HostInfo& host = agent.record.host;
  ENSURE(std::cmp_less(agent.taken_ports.size(), port_count(host)));
  const auto in_range = [&host](int port) {
    return port < host.first_port || port > host.last_port ? host.first_port : port;
  };
  int port = in_range(agent.next_port);
  for (std::int64_t tried = 0; tried < port_count(host); ++tried, port = in_range(port + 1)) {
    if (!agent.taken_ports.contains(port) && may_take(port)) return port;
  }
  return std::nullopt;
}

// One that another program held not long ago is taken only where there is no other.
int take_port(LiveAgent& agent, Time now) {
  std::erase_if(agent.shunned_ports, [now](const auto& port) { return port.second <= now; });
  auto port = next_port(agent, [&](int one) { return !agent.shunned_ports.contains(one); });
  if (!port) port = next_port(agent, [](int) { return true; });
  ENSURE(port.has_value());  // placement counts them
  agent.taken_ports.insert(*port);
  agent.next_port = *port + 1;
  return *port;
}

bool has_task_of(const LiveAgent& agent, const JobId& job) {
  const auto first = agent.tasks.lower_bound({job, 0, Role::ps, 0});
  return first != agent.tasks.end() && first->job == job;
}

// What is said of a job is said once for all its tasks.
void add_task(LiveAgent& agent, const JobSpec& spec, const TaskKey& task) {
  if (!has_task_of(agent, task.job)) agent.assignment_bytes += assignment_bytes(spec);
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
  Host host{.agent = agent.record.id,
            .free = info.capacity,
            .ports = port_count(info),
            .labels = &info.labels,
            .allowed_env = &info.allowed_env,
            .slots = agent.cards};
  if (room != Room::whole) host.readings = agent.readings;
  if (room == Room::now) {
    host.free = agent.free;
    host.ports -= static_cast<std::int64_t>(agent.taken_ports.size());
    host.assignment_bytes -= agent.assignment_bytes;
    host.free_slots = &agent.free_gpus;
  }
  for (const GpuReading& reading : host.readings) {
    const bool is_free = room != Room::now || agent.free_gpus.contains(reading.index);
    if (is_free && !reading.strangers.empty()) --host.free.gpus;
  }
  return host;
}

bool takes_tasks(const LiveAgent& agent) {
  return agent.record.state == AgentState::ready && agent.heard && !agent.has_strays &&
         !agent.has_old_slots;
}

bool is_expected(const LiveAgent& agent) { return agent.record.state == AgentState::ready; }

void clear_slots(LiveAgent& agent) {
  agent.free = agent.record.host.capacity;
  agent.cards = cards_of(agent.record.host);
  agent.free_gpus.clear();
  for (const GpuInfo& card : agent.cards) agent.free_gpus.insert(card.index);
  agent.taken_ports.clear();
  agent.assignment_bytes = 0;
  agent.tasks.clear();
}

void occupy(LiveAgent& agent, const JobSpec& spec, TaskAttempt& task, Time now) {
  ENSURE(fits(task.resources, agent.free));
  ENSURE(std::cmp_equal(task.gpus.size(), task.resources.gpus));
  for (const int slot : task.gpus) ENSURE(agent.free_gpus.erase(slot) == 1);
  agent.free = agent.free - task.resources;
  task.port = take_port(agent, now);
  if (listens(spec, task.key.role)) task.rows_port = take_port(agent, now);
  add_task(agent, spec, task.key);
}

void occupy_again(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task) {
  for (const int slot : task.gpus) agent.free_gpus.erase(slot);
  agent.free = agent.free - task.resources;
  for (const int port : {task.port, task.rows_port}) {
    if (port != 0) agent.taken_ports.insert(port);
    agent.next_port = std::max(agent.next_port, port + 1);
  }
  add_task(agent, spec, task.key);
}

void vacate(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task) {
  agent.tasks.erase(task.key);
  if (!has_task_of(agent, task.key.job)) agent.assignment_bytes -= assignment_bytes(spec);
  agent.free_gpus.insert(task.gpus.begin(), task.gpus.end());
  agent.free = agent.free + task.resources;
  for (const int port : {task.port, task.rows_port}) agent.taken_ports.erase(port);
}

void shun_ports(LiveAgent& agent, const TaskAttempt& task, Time now) {
  for (const int port : {task.port, task.rows_port}) {
    if (port != 0) agent.shunned_ports[port] = now + port_shunned_for;
  }
}

bool all_gone(const LiveJob& job) {
  return std::ranges::all_of(job.tasks,
                             [](const LiveTask& task) { return is_terminal(task.row.state); });
}

bool is_saving(const LiveJob& job) {
  return job.row.state == JobState::stopping &&
         std::ranges::any_of(
             job.tasks, [](const LiveTask& task) { return task.row.state < TaskState::stopping; });
}

}  // namespace trainyard::scheduler
