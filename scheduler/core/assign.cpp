#include "scheduler/core/assign.h"

#include <algorithm>

namespace trainyard::scheduler {
namespace {

// The job's, with the workers that the attempt has.
JobSpec spec_of_gang(const LiveJob& job) {
  JobSpec spec = job.row.spec;
  if (!spec.worker.min_replicas) return spec;
  spec.worker.replicas = std::ranges::count(job.tasks, Role::worker,
                                            [](const LiveTask& task) { return task.row.key.role; });
  spec.worker.min_replicas = std::min(*spec.worker.min_replicas, spec.worker.replicas);
  spec.training.replicas_to_aggregate =
      std::min(spec.training.replicas_to_aggregate, training_replicas(spec));
  return spec;
}

// Who saves is the chief: the others go on until it is done.
StopOrder order_for(const LiveJob& job, const LiveTask& task) {
  if (task.row.state == TaskState::stopping) return StopOrder::stop;
  return is_saving(job) && is_chief(job.row.spec, task.row.key) ? StopOrder::save : StopOrder::run;
}

WantedTask wanted(const LiveJob& job, const LiveTask& task) {
  WantedTask wish;
  wish.task.key = task.row.key;
  wish.task.token = job.token;
  wish.token = task.token;
  wish.task.spec_hash = job.row.spec_hash;
  wish.task.spec = spec_of_gang(job);
  wish.task.cluster = job.addresses;
  if (listens(job.row.spec, task.row.key.role)) {
    wish.task.listen = task.row.host + ":" + std::to_string(task.row.port);
    wish.task.rows_port = task.row.rows_port;
  }
  wish.resources = task.row.resources;
  wish.gpus = task.row.gpus;
  if (holds_parameters(job.row.spec, task.row.key.role)) wish.restore = job.restore;
  wish.stop = order_for(job, task);
  wish.grace = seconds(job.row.spec.run_policy.grace_period_seconds);
  wish.events_stored = task.row.events_end;
  return wish;
}

std::vector<std::string>& list_of(ClusterSpec& cluster, Role role) {
  switch (role) {
    case Role::ps: return cluster.ps;
    case Role::worker: return cluster.worker;
    case Role::chief: return cluster.chief;
    case Role::evaluator: break;
  }
  return cluster.evaluator;
}

}  // namespace

Assignment assignment_for(const State& state, const LiveAgent& agent) {
  Assignment assignment{.agent = agent.record.id,
                        .instance = agent.record.instance,
                        .epoch = agent.record.epoch,
                        .generation = agent.record.generation,
                        .answers = agent.last_number,
                        .stop_after = state.limits.stop_after,
                        .tasks = {}};
  for (const TaskKey& key : agent.tasks) {
    const LiveJob& job = state.jobs.at(key.job);
    assignment.tasks.push_back(wanted(job, *job.find(key)));
  }
  return assignment;
}

ClusterSpec addresses_of(const std::vector<LiveTask>& tasks) {
  ClusterSpec cluster;
  for (const LiveTask& task : tasks) {  // in order of (role, index), so that position = index
    list_of(cluster, task.row.key.role)
        .push_back(task.row.host + ":" + std::to_string(task.row.port));
  }
  return cluster;
}

}  // namespace trainyard::scheduler
