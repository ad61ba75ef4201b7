#include "scheduler/core/invariants.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/assignment_size.h"

namespace trainyard::scheduler {
namespace {

class Beliefs {
 public:
  explicit Beliefs(const State& state) : state_(state) {}

  std::vector<std::string> broken() {
    for (const auto& [id, job] : state_.jobs) about_job(job);
    for (const auto& [id, agent] : state_.agents) about_agent(agent);
    const bool nothing_waits =
        state_.queue.size() == 0 && state_.deadlines.empty() && state_.resume_sources.empty();
    believe(!state_.jobs.empty() || nothing_waits, "something is kept of jobs that are gone");
    return std::move(broken_);
  }

 private:
  void believe(bool holds, const std::string& belief) {
    if (!holds) broken_.push_back(belief);
  }

  void about_job(const LiveJob& job) {
    const std::string name = "job " + job.row.id.text;
    const JobState state = job.row.state;
    believe(!is_terminal(state), name + " is terminal and not forgotten");

    const bool holds_slots = !all_gone(job);
    const bool may_hold =
        state == JobState::starting || state == JobState::running || state == JobState::stopping;
    believe(!holds_slots || may_hold, name + " holds slots while " + std::string(name_of(state)));
    believe(holds_slots || state != JobState::stopping, name + " is stopping with no task left");

    const bool backs_off = state_.deadlines.armed(job.row.id, DeadlineKind::backoff_over);
    const bool waits = state_.queue.contains(job.row);
    believe(!state_.awake || (state == JobState::queued) == (backs_off || waits),
            name + " is queued and forgotten, or waits and is not queued");
    believe(!(backs_off && waits), name + " backs off and is in the queue");
    const bool may_save_on = state_.deadlines.armed(job.row.id, DeadlineKind::saves_too_long);
    believe(!state_.awake || may_save_on == is_saving(job),
            name + " saves without a limit, or has one and does not save");
    for (const LiveTask& task : job.tasks) about_task(job, task);
  }

  void about_task(const LiveJob& job, const LiveTask& task) {
    const std::string name = to_string(task.row.key);
    believe(task.row.key.attempt == job.row.attempt, name + " is not of the current attempt");
    const auto agent = state_.agents.find(task.row.agent);
    // Of one that is gone, so may be its agent: people delete those that are down.
    believe(agent != state_.agents.end() || is_terminal(task.row.state),
            name + " is on an agent that is not known");
    if (agent == state_.agents.end()) return;
    believe(agent->second.tasks.contains(task.row.key) != is_terminal(task.row.state),
            name + " holds its slots if and only if it is not gone");
    believe(task.generation <= agent->second.record.generation,
            name + " was placed in a generation that has not been");
    const bool asked = task.row.state == TaskState::stopping;
    believe(!asked || job.row.state == JobState::stopping, name + " is to stop without its job");
  }

  // What the tasks hold and what is free are the whole of the host, slot by slot.
  void about_agent(const LiveAgent& agent) {
    const std::string name = "agent " + agent.record.id.text;
    Resources used;
    std::set<int> slots = agent.free_gpus;
    std::size_t slot_count = agent.free_gpus.size();
    std::set<int> ports;
    std::size_t port_count = 0;
    std::map<JobId, std::int64_t> bytes_by_job;
    for (const TaskKey& key : agent.tasks) {
      const auto job = state_.jobs.find(key.job);
      const LiveTask* const task = job == state_.jobs.end() ? nullptr : job->second.find(key);
      believe(task != nullptr, name + " has a task that no job has");
      if (task == nullptr) continue;
      used = used + task->row.resources;
      bytes_by_job[key.job] = assignment_bytes(job->second.row.spec);
      slots.insert(task->row.gpus.begin(), task->row.gpus.end());
      slot_count += task->row.gpus.size();
      for (const int port : {task->row.port, task->row.rows_port}) {
        if (port != 0) ports.insert(port), ++port_count;
      }
    }
    believe(agent.free + used == agent.record.host.capacity, name + " does not add up");
    believe(fits({0, 0, 0}, agent.free), name + " is overcommitted");
    believe(slots.size() == slot_count, name + " has a gpu slot with two owners");
    believe(std::cmp_equal(slot_count, agent.record.host.capacity.gpus),
            name + " has not as many gpu slots as it says");
    believe(ports.size() == port_count && ports == agent.taken_ports,
            name + " has a port with two owners or none");
    std::int64_t bytes = 0;
    for (const auto& [id, of_job] : bytes_by_job) bytes += of_job;
    believe(bytes == agent.assignment_bytes && bytes <= assigned_jobs_bytes_max,
            name + " has an assignment that is larger than is known, or than may be");
  }

  const State& state_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_beliefs_of(const State& state) { return Beliefs(state).broken(); }

}  // namespace trainyard::scheduler
