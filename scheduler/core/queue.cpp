#include "scheduler/core/queue.h"

#include <iterator>

#include "schemas/base/check.h"
#include "schemas/types/env_names.h"
#include "schemas/types/task_context.h"

namespace trainyard::scheduler {

QueueKey queue_key(const Job& job) { return {job.spec.scheduling.priority, job.sequence}; }

Shape shape_of(const JobSpec& spec) {
  Shape shape{{}, spec.scheduling.host_labels, {}};
  for (const auto& [name, value] : spec.env) {
    if (!is_env_allowed_everywhere(name)) shape.env.push_back(name);
  }
  const auto add = [&shape](const RoleSpec& role) {
    const Resources& each = role.resources;
    shape.numbers.insert(shape.numbers.end(),
                         {role.replicas, each.cpus, each.memory_mb, each.gpus,
                          role.placement == PlacementPolicy::spread ? 1 : 0, role.gpu.memory_mb});
    if (role.gpu.name.empty()) return;
    shape.gpu_names.push_back(std::to_string(shape.numbers.size()) + ":" + role.gpu.name);
  };
  add(spec.ps);
  add(spec.worker);
  add(spec.chief.value_or(RoleSpec{}));
  add(spec.evaluator.value_or(RoleSpec{}));
  shape.numbers.push_back(spec.worker.min_replicas.value_or(spec.worker.replicas));
  shape.numbers.push_back(listens(spec, Role::worker) ? 1 : 0);  // on more ports
  return shape;
}

Queue::Standing Queue::insert(const Job& job) {
  Line& line = lines_[shape_of(job.spec)];
  const bool is_open = line.access == Access::open;
  if (!line.jobs.empty() && is_open) heads_.erase(line.jobs.begin()->first);
  const auto [place, is_new] = line.jobs.emplace(queue_key(job), job.id);
  ENSURE(is_new);
  ++size_;
  if (!is_open) return Standing::parked;
  heads_.insert(*line.jobs.begin());
  return place == line.jobs.begin() ? Standing::head : Standing::behind;
}

void Queue::erase(const Job& job) {
  const auto found = lines_.find(shape_of(job.spec));
  if (found == lines_.end()) return;
  Line& line = found->second;
  const auto place = line.jobs.find(queue_key(job));
  if (place == line.jobs.end()) return;
  heads_.erase(place->first);
  line.jobs.erase(place);
  --size_;
  if (line.jobs.empty()) {
    lines_.erase(found);
  } else if (line.access == Access::open) {
    heads_.insert(*line.jobs.begin());
  }
}

bool Queue::contains(const Job& job) const {
  const auto found = lines_.find(shape_of(job.spec));
  return found != lines_.end() && found->second.jobs.contains(queue_key(job));
}

std::optional<std::pair<QueueKey, JobId>> Queue::next_head(
    const std::optional<QueueKey>& after) const {
  const auto head = after ? heads_.upper_bound(*after) : heads_.begin();
  if (head == heads_.end()) return std::nullopt;
  return *head;
}

void Queue::park(const Job& job) {
  Line& line = lines_.at(shape_of(job.spec));
  heads_.erase(line.jobs.begin()->first);
  line.access = Access::parked;
}

std::vector<JobId> Queue::heads_of_parked() const {
  std::vector<JobId> heads;
  for (const auto& [shape, line] : lines_) {
    if (line.access == Access::parked) heads.push_back(line.jobs.begin()->second);
  }
  return heads;
}

void Queue::open(const Job& job) {
  Line& line = lines_.at(shape_of(job.spec));
  line.access = Access::open;
  heads_.insert(*line.jobs.begin());
}

std::int64_t Queue::count_before(const Job& job) const {
  std::int64_t count = 0;
  for (const auto& [shape, line] : lines_) {
    count += std::distance(line.jobs.begin(), line.jobs.lower_bound(queue_key(job)));
  }
  return count;
}

}  // namespace trainyard::scheduler
