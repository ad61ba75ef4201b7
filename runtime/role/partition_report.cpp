#include "runtime/role/partition_report.h"

#include <cstddef>
#include <utility>

#include "runtime/core/partition.h"

namespace trainyard::runtime {
namespace {

// By share; of workers in the order of training_rank().
std::vector<std::string> holders_of(const JobSpec& spec) {
  std::vector<std::string> names;
  const auto add = [&names](Role role, std::int64_t replicas) {
    for (std::int64_t i = 0; i < replicas; ++i) {
      names.push_back(task_name({.job = {}, .attempt = 0, .role = role, .index = i}));
    }
  };
  if (spec.training.strategy == Strategy::parameter_server) {
    add(Role::ps, spec.ps.replicas);
    return names;
  }
  if (spec.chief) add(Role::chief, spec.chief->replicas);
  add(Role::worker, spec.worker.replicas);
  return names;
}

}  // namespace

PartitionEvent partition_report(const TaskContext& context, const JobPlan& plan,
                                const std::vector<std::string>& transports) {
  const std::vector<std::string> names = holders_of(context.spec);
  Partition partition =
      describe_partition(context.spec.training.partitioning, plan.model.variables(), plan.shares);
  for (const RowVariable& variable : plan.model.rows().variables) {
    partition.tables.push_back(variable.name);
  }
  for (std::size_t i = 0; i < partition.shares.size(); ++i) {
    partition.shares[i].task = names.at(i);
    if (i < transports.size()) partition.shares[i].transport = transports[i];
  }
  return {.partition = std::move(partition)};
}

}  // namespace trainyard::runtime
