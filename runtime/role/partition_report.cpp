#include "runtime/role/partition_report.h"

#include <cstddef>
#include <utility>

#include "runtime/core/partition.h"
#include "runtime/role/holders.h"

namespace trainyard::runtime {
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
