#include "tests/scheduler/core/yard.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/scheduler/core/plain_tokens.h"

namespace trainyard::scheduler {

JobSpec a_spec() {
  JobSpec spec;
  spec.ps = {1, {1, 1000, 0}, PlacementPolicy::spread};
  spec.worker = {2, {1, 1000, 0}, PlacementPolicy::pack};
  spec.training.max_steps = 100;
  return spec;
}

Yard::Yard(const Limits& limits)
    : cluster(Cluster::restore({}, limits, plain_tokens(), Time{5000})), limits_(limits) {}

Step Yard::step(const Event& event) {
  Step step = cluster.step(event, now);
  for (const std::string& belief : cluster.broken_beliefs()) FAIL_CHECK(belief);
  keep(step);
  return step;
}

void Yard::keep(const Step& step) {
  for (const Change& change : step.save) {
    if (const auto* job = std::get_if<SaveJob>(&change)) jobs[job->job.id] = job->job;
    if (const auto* gone = std::get_if<RemoveJob>(&change)) jobs.erase(gone->job);
    if (const auto* task = std::get_if<SaveTask>(&change)) tasks[task->task.key] = task->task;
    if (const auto* agent = std::get_if<SaveAgent>(&change)) agents[agent->agent.id] = agent->agent;
    if (const auto* gone = std::get_if<RemoveAgent>(&change)) agents.erase(gone->agent);
    if (const auto* told = std::get_if<AppendRunEvents>(&change)) {
      events.insert(events.end(), told->events.begin(), told->events.end());
    }
    if (const auto* saved = std::get_if<SavePartition>(&change)) partitions[saved->job] = *saved;
    if (const auto* saved = std::get_if<SaveCheckpoint>(&change)) {
      const Checkpoint& row = saved->checkpoint;
      checkpoints[row.step] = row;
      checkpoint_rows[{row.step, row.attempt}] = row;
    }
  }
  for (const Assignment& assignment : step.send) wanted[assignment.agent] = assignment;
}

void Yard::pass(Millis time) {
  now.steady = now.steady + time;
  now.wall = now.wall + time;
  step(Tick{});
}

Saved Yard::rows() const {
  Saved saved;
  for (const auto& [id, row] : jobs) {
    if (!is_terminal(row.state)) saved.jobs.push_back(row);
  }
  for (const auto& [key, row] : tasks) {
    const auto owner = jobs.find(key.job);
    if (owner != jobs.end() && owner->second.attempt == key.attempt) saved.tasks.push_back(row);
  }
  for (const auto& [id, row] : agents) saved.agents.push_back(row);
  for (const auto& [key, row] : checkpoint_rows) {
    if (row.state != CheckpointState::deleted) saved.checkpoints.push_back(row);
  }
  return saved;
}

void Yard::restart() {
  now.steady = Time{now.steady.millis / 2};  // another start has another steady clock
  cluster = Cluster::restore(rows(), limits_, plain_tokens(), now.steady);
  step(Tick{});
}

Outcome Yard::submit(const std::string& id, const JobSpec& spec) {
  Job job;
  job.id = JobId{id};
  job.sequence = ++sequence_;
  job.spec = spec;
  job.created_at = now.wall;
  return step(Submit{job}).outcome;
}

Outcome Yard::act(const std::string& id, JobAction action) {
  return step(ActOnJob{JobId{id}, action}).outcome;
}

TaskAttempt& Yard::task(const std::string& job_id, const std::string& name) {
  for (auto& [key, row] : tasks) {
    const bool current = key.attempt == job(job_id).attempt;
    if (key.job.text == job_id && current && task_name(key) == name) return row;
  }
  FAIL("no task " << name << " of job " << job_id);
  return tasks.begin()->second;
}

void Yard::join(const std::string& agent, const Resources& capacity) {
  AgentReport& report = reports_[AgentId{agent}];
  report.agent = AgentId{agent};
  report.instance = agent + "-folder";
  report.epoch += 1;
  report.number = 0;
  report.generation = 0;
  report.tasks.clear();
  report.host.address = agent + ".example";
  report.host.capacity = capacity;
  report.host.first_port = 20'000;
  report.host.last_port = 20'009;
  speak(agent);
}

void Yard::speak(const std::string& agent) {
  AgentReport& report = report_of(agent);
  ++report.number;
  step(report);
}

void Yard::obey(const std::string& agent) {
  const Assignment& assignment = wanted.at(AgentId{agent});
  AgentReport& report = report_of(agent);
  std::vector<TaskReport> tasks_now;
  for (const WantedTask& want : assignment.tasks) {
    const auto had = std::ranges::find(report.tasks, want.task.key, &TaskReport::key);
    if (had != report.tasks.end()) {
      tasks_now.push_back(*had);
    } else if (want.stop != StopOrder::stop) {
      TaskReport fresh;
      fresh.key = want.task.key;
      fresh.token = want.token;
      fresh.state = TaskState::running;
      fresh.pid = 1000 + report.number;
      tasks_now.push_back(fresh);
    }
  }
  report.tasks = tasks_now;
  report.generation = assignment.generation;
  speak(agent);
}

void Yard::show(const std::string& agent, const TaskReport& task) {
  shown(agent, task_name(task.key)) = task;
  speak(agent);
}

void Yard::end(const std::string& agent, const std::string& task, ExitStatus exit) {
  TaskReport& report = shown(agent, task);
  report.exit = exit;
  report.state = exit.code == 0 ? TaskState::succeeded : TaskState::failed;
  const auto& list = wanted.at(AgentId{agent}).tasks;
  const auto want =
      std::ranges::find(list, report.key, [](const WantedTask& w) { return w.task.key; });
  if (want != list.end() && want->stop == StopOrder::stop && exit.code != 0) {
    report.state = TaskState::killed;
    report.reason = Reason::stopped_with_gang;
  }
  speak(agent);
}

void Yard::tell(const std::string& agent, const std::string& task, decltype(RunEvent::what) what) {
  TaskReport& report = shown(agent, task);
  report.events_begin = report.events_end;
  report.events = {{now.wall, report.events_end, std::move(what)}};
  report.events_end += 100;
  speak(agent);
}

TaskReport& Yard::shown(const std::string& agent, const std::string& task) {
  for (TaskReport& report : report_of(agent).tasks) {
    if (task_name(report.key) == task) return report;
  }
  FAIL("agent " << agent << " has no task " << task);
  return report_of(agent).tasks.front();
}

}  // namespace trainyard::scheduler
