// A cluster core with a clock in the test's hand, agents that do as they are told, and the rows as
// saved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/core/cluster.h"

namespace trainyard::scheduler {

// One ps and two workers of one cpu each, quick to retry.
JobSpec a_spec();

class Yard {
 public:
  explicit Yard(const Limits& limits = {});

  Now now{Time{5000}, WallTime{1'700'000'000'000}};
  Cluster cluster;
  std::map<JobId, Job> jobs;
  std::map<TaskKey, TaskAttempt> tasks;
  std::map<AgentId, AgentRecord> agents;
  std::map<std::int64_t, Checkpoint> checkpoints;  // by step, as last saved; of whichever job
  // As the table has them: by step and attempt.
  std::map<std::pair<std::int64_t, std::int64_t>, Checkpoint> checkpoint_rows;
  std::map<JobId, SavePartition> partitions;  // as last saved
  std::vector<RunEvent> events;               // as appended
  std::map<AgentId, Assignment> wanted;       // newest sent

  Step step(const Event& event);
  void pass(Millis time);            // and a tick
  [[nodiscard]] Saved rows() const;  // as a start finds them
  // The server dies and comes back from its rows.
  void restart();

  Outcome submit(const std::string& id, const JobSpec& spec = a_spec());
  Outcome act(const std::string& id, JobAction action);
  Job& job(const std::string& id) { return jobs.at(JobId{id}); }
  TaskAttempt& task(const std::string& job_id, const std::string& name);

  // An agent joins, or speaks again, with what it last had.
  void join(const std::string& agent, const Resources& capacity = {4, 16'000, 2});
  void speak(const std::string& agent);
  // Takes up its newest assignment: new tasks run, those that are no longer listed are forgotten.
  void obey(const std::string& agent);
  // Shows one of its tasks changed, and speaks.
  void show(const std::string& agent, const TaskReport& task);
  void end(const std::string& agent, const std::string& task, ExitStatus exit);
  // What the task wrote since; speaks.
  void tell(const std::string& agent, const std::string& task, decltype(RunEvent::what) what);
  TaskReport& shown(const std::string& agent, const std::string& task);
  AgentReport& report_of(const std::string& agent) { return reports_.at(AgentId{agent}); }

 private:
  void keep(const Step& step);

  Limits limits_;
  std::map<AgentId, AgentReport> reports_;
  std::uint64_t sequence_ = 0;
};

}  // namespace trainyard::scheduler
