#include "scheduler/store/sound.h"

#include <map>
#include <set>
#include <string>

#include "scheduler/core/job_machine.h"

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t number_max = std::int64_t{1} << 62;
constexpr std::int64_t amount_max = std::int64_t{1} << 40;
constexpr int port_max = 65'535;

Error unsound(const std::string& row, const std::string& why) {
  return internal("the database holds what cannot be: " + row + " " + why +
                  ". Was it changed by hand? Put a copy of it back");
}

bool is_amount(std::int64_t value) { return value >= 0 && value <= amount_max; }
bool is_count(std::int64_t value) { return value >= 0 && value <= number_max; }

bool has_gang(JobState state) {
  return state == JobState::starting || state == JobState::running || state == JobState::stopping;
}

Status check_job(const Job& job) {
  const std::string row = "job " + job.id.text;
  if (!is_id(job.id.text)) return unsound(row, "has no id that could be one");
  if (job.state == JobState::stopping && !is_goal(job.goal)) {
    return unsound(row, "is stopping, on its way to " + std::string(name_of(job.goal)));
  }
  if (!is_count(job.attempt) || !is_count(job.version) || !is_count(job.progress.step)) {
    return unsound(row, "counts an attempt, a version or a step below 0 or beyond all bounds");
  }
  return ok();
}

Status check_task(const TaskAttempt& task, const std::map<JobId, JobState>& jobs,
                  const std::set<AgentId>& agents) {
  const std::string row = "task " + to_string(task.key);
  const bool amounts = is_amount(task.resources.cpus) && is_amount(task.resources.memory_mb) &&
                       is_amount(task.resources.gpus);
  if (!amounts || task.port < 0 || task.port > port_max || !is_count(task.events_end)) {
    return unsound(row, "has resources, a port or an offset that are none");
  }
  if (is_terminal(task.state)) return ok();
  if (!agents.contains(task.agent)) {
    return unsound(row, "is on agent \"" + task.agent.text + "\", which there is not");
  }
  const JobState state = jobs.at(task.key.job);
  if (has_gang(state)) return ok();
  return unsound(row, "is " + std::string(name_of(task.state)) + " while its job is " +
                          std::string(name_of(state)));
}

}  // namespace

Status check_saved(const Saved& saved) {
  std::map<JobId, JobState> jobs;
  for (const Job& job : saved.jobs) {
    TRY(check_job(job));
    jobs.emplace(job.id, job.state);
  }
  std::set<AgentId> agents;
  for (const AgentRecord& agent : saved.agents) {
    if (!is_id(agent.id.text) || !is_count(agent.epoch) || !is_count(agent.generation)) {
      return unsound("agent " + agent.id.text, "has no name, epoch or generation that could be");
    }
    agents.insert(agent.id);
  }
  for (const TaskAttempt& task : saved.tasks) TRY(check_task(task, jobs, agents));
  return ok();
}

}  // namespace trainyard::scheduler
