// Sentences about why a gang is where it is. Reads the state with the very functions that place
// gangs, so that what is said and what is done cannot differ.
#include "scheduler/core/explainer.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "scheduler/core/assignment_size.h"
#include "scheduler/core/gangs.h"
#include "scheduler/core/obstacles.h"
#include "scheduler/core/slots.h"
#include "schemas/types/env_names.h"

namespace trainyard::scheduler {
namespace {

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// The group that is hardest to seat: what shortages are told for.
TaskGroup largest_group(const JobSpec& spec) {
  const auto groups = gang_of(spec);
  if (groups.empty()) return {};
  return *std::ranges::max_element(groups, {}, [](const TaskGroup& g) {
    return std::tuple(g.each.gpus, g.each.cpus, g.each.memory_mb);
  });
}

Resources missing_for(const TaskGroup& group, const Host& host) {
  Resources gap = group.each - host.free;
  gap.gpus = group.each.gpus - std::ssize(cards_for(group.gpu, host));
  return {std::max<std::int64_t>(gap.cpus, 0), std::max<std::int64_t>(gap.memory_mb, 0),
          std::max<std::int64_t>(gap.gpus, 0)};
}

std::string missing_label(const Labels& has, const Labels& wanted) {
  for (const auto& [name, value] : wanted) {
    if (!carries(has, {{name, value}})) return name + "=" + value;
  }
  return "";
}

std::string refused_variable(const HostInfo& host, const JobSpec& spec) {
  for (const auto& [name, value] : spec.env) {
    if (!is_env_allowed(name, host.allowed_env)) return name;
  }
  return "";
}

HolderOf holders_on(const State& state, const LiveAgent& agent) {
  return [&state, &agent](int slot) -> std::string {
    for (const TaskKey& key : agent.tasks) {
      const LiveTask* const task = state.jobs.at(key.job).find(key);
      if (std::ranges::count(task->row.gpus, slot) == 0) continue;
      return task_name(key) + " of job " + key.job.text;
    }
    return "";
  };
}

std::string missing_words(const State& state, const LiveAgent& agent, const TaskGroup& group,
                          const Resources& missing) {
  std::string words = "needs " + in_words(missing) + " more for one task";
  if (missing.gpus == 0) return words;
  const std::string slots =
      slots_in_words(host_of(agent, Room::now), group.gpu, holders_on(state, agent));
  return slots.empty() ? words : words + ": " + slots;
}

std::string shortage_words(const State& state, const LiveAgent& agent, const JobSpec& spec,
                           const HostShortage& host) {
  if (agent.record.state != AgentState::ready) return std::string(name_of(agent.record.state));
  if (!agent.heard) return "not heard of since the server started";
  if (agent.has_strays) return "still runs tasks that the server does not know";
  if (agent.has_old_slots) return "still runs tasks that began before its resources changed";
  const std::string label = missing_label(agent.record.host.labels, spec.scheduling.host_labels);
  if (!label.empty()) return "lacks the label " + label;
  const std::string variable = refused_variable(agent.record.host, spec);
  if (!variable.empty()) return "does not allow the environment variable " + variable;
  if (host.missing != Resources{}) {
    return missing_words(state, agent, largest_group(spec), host.missing);
  }
  if (host_of(agent, Room::now).assignment_bytes < assignment_bytes(spec)) {
    return "has as many jobs with specs as large as theirs as it can be told of";
  }
  if (host.tasks_that_fit == 0) return "has too few free ports";
  return "has room for " + counted(host.tasks_that_fit, "task") + " of " +
         task_in_words(largest_group(spec));
}

HostShortage shortage_on(const State& state, const LiveAgent& agent, const JobSpec& spec) {
  TaskGroup group = largest_group(spec);
  // As many as there are tasks: the others of the gang are no larger.
  for (const TaskGroup& other : gang_of(spec)) {
    if (other.role != group.role) group.replicas += other.replicas;
  }
  const Host now = host_of(agent, Room::now);
  HostShortage host{
      agent.record.id, agent.record.state, agent.record.host.capacity, now.free, {}, 0, ""};
  host.missing = missing_for(group, now);
  if (takes_tasks(agent) && admits(now, spec)) host.tasks_that_fit = count_that_fit(group, now);
  host.message = shortage_words(state, agent, spec, host);
  return host;
}

// What each job that holds slots would give back, in order of age.
std::vector<const LiveJob*> holders_by_age(const State& state) {
  std::vector<const LiveJob*> holders;
  for (const auto& [id, job] : state.jobs) {
    if (!all_gone(job)) holders.push_back(&job);
  }
  std::ranges::sort(holders, {}, [](const LiveJob* job) { return job->row.sequence; });
  return holders;
}

void give_back_gpus(Host& host, const TaskAttempt& task) {
  for (const int slot : task.gpus) {
    host.given_back.push_back(slot);
    if (stranger_on(host.readings, slot) != nullptr) --host.free.gpus;
  }
}

std::vector<Host> with_room_of(std::vector<Host> hosts, std::span<const LiveJob* const> ended) {
  for (const LiveJob* job : ended) {
    std::set<AgentId> told_of;
    for (const LiveTask& task : job->tasks) {
      if (is_terminal(task.row.state)) continue;
      const auto host = std::ranges::lower_bound(hosts, task.row.agent, {}, &Host::agent);
      if (host == hosts.end() || host->agent != task.row.agent) continue;
      host->free = host->free + task.row.resources;
      give_back_gpus(*host, task.row);
      host->ports += (task.row.port != 0 ? 1 : 0) + (task.row.rows_port != 0 ? 1 : 0);
      if (told_of.insert(host->agent).second)
        host->assignment_bytes += assignment_bytes(job->row.spec);
    }
  }
  return hosts;
}

// The fewest of the oldest jobs whose end would let the gang in. By halving: each trial is a
// placement.
std::vector<JobId> would_free_enough(const State& state, const JobSpec& spec) {
  const std::vector<Host> hosts = free_hosts(state);
  const std::vector<const LiveJob*> holders = holders_by_age(state);
  const auto enough = [&](std::size_t count) {
    return place(spec, with_room_of(hosts, std::span(holders).first(count))).has_value();
  };
  if (!enough(holders.size())) return {};
  std::size_t too_few = 0;
  std::size_t plenty = holders.size();
  while (too_few + 1 < plenty) {
    const std::size_t middle = (too_few + plenty) / 2;
    (enough(middle) ? plenty : too_few) = middle;
  }
  std::vector<JobId> ids;
  for (std::size_t i = 0; i < plenty; ++i) ids.push_back(holders[i]->row.id);
  return ids;
}

Cause why_it_waits(const State& state, const LiveJob& job, std::int64_t before) {
  const JobSpec& spec = job.row.spec;
  if (job.row.reason == Reason::backing_off) return {Reason::backing_off, job.row.message};
  const std::vector<Host> expected = empty_hosts(state, Agents::expected);
  if (expected.empty()) return {Reason::no_agents, "no agent is ready"};
  if (auto words = obstacles_in_words(spec, expected, Asked::ready); !words.empty()) {
    return {Reason::no_capacity, std::move(words)};
  }
  const std::string behind = "waits behind " + counted(before, "job");
  if (!place(spec, free_hosts(state))) {
    return {Reason::no_capacity,
            "no room now for " + gang_in_words(spec) + (before == 0 ? "" : "; " + behind)};
  }
  return {Reason::queued, behind};
}

void explain_waiting(const State& state, const LiveJob& job, Explanation& answer) {
  const bool in_queue = state.queue.contains(job.row);
  const std::int64_t before = state.queue.count_before(job.row);
  if (in_queue) {
    answer.queue_position = before + 1;
    answer.queue_length = static_cast<std::int64_t>(state.queue.size());
  }
  const Cause cause = why_it_waits(state, job, before);
  answer.reason = cause.reason;
  answer.message = cause.message;
  for (const auto& [id, agent] : state.agents) {
    answer.hosts.push_back(shortage_on(state, agent, job.row.spec));
  }
  if (cause.reason == Reason::no_capacity && before == 0) {
    answer.would_free_enough = would_free_enough(state, job.row.spec);
  }
}

// Whom a stopping job waits for.
std::string who_is_left(const LiveJob& job) {
  std::string names;
  for (const LiveTask& task : job.tasks) {
    if (is_terminal(task.row.state)) continue;
    names += (names.empty() ? "" : ", ") + task_name(task.row.key) + " on " + task.row.agent.text;
    if (task.row.agent_silent) names += " (silent)";
  }
  return names;
}

}  // namespace

Plan plan_for(const State& state, const JobSpec& spec) {
  const std::vector<Host> known = empty_hosts(state, Agents::known);
  if (auto faults = obstacles(spec, known, Asked::known); !faults.empty()) {
    return {false, {}, "would be refused", std::move(faults)};
  }
  if (known.empty()) return {false, {}, "no agent is known yet: the job would wait", {}};
  const auto placement = place(spec, free_hosts(state));
  if (!placement) return {false, {}, "fits, but not now: the job would wait", {}};

  Plan plan{true, {}, "fits now", {}};
  for (const Seat& seat : *placement) {
    plan.tasks.push_back({task_name({{}, 0, seat.role, seat.index}), seat.agent, seat.gpus});
  }
  return plan;
}

Explanation explain_job(const State& state, const LiveJob& job, const Now& now) {
  Explanation answer;
  answer.job = job.row.id;
  answer.state = job.row.state;
  answer.reason = job.row.reason;
  answer.message = job.row.message;
  if (job.row.not_before > now.wall) answer.not_before = job.row.not_before;
  if (job.row.state == JobState::queued) explain_waiting(state, job, answer);
  if (job.row.state == JobState::stopping) {
    answer.message += "; waits for the end of " + who_is_left(job);
  }
  return answer;
}

}  // namespace trainyard::scheduler
