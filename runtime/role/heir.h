// What a worker computes for ranks that are not there (runtime/core/heirs).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/reduction_tree.h"
#include "runtime/core/sampler.h"
#include "runtime/data/dataset.h"
#include "runtime/net/params_channel.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/node_sums.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

// The leaves whose gradients a rank computes, and the nodes of the reduction tree that it sends.
Leaves leaves_of_rank(const JobSpec& spec, const JobPlan& plan, std::int64_t rank);
std::vector<Leaves> nodes_of_rank(const JobSpec& spec, const JobPlan& plan, std::int64_t rank);

class Heir {
 public:
  // All outlive the heir.
  Heir(const Task& task, JobPlan& plan, const Dataset& dataset);

  // The contribution of a rank to a step, just as it would make it from these parameters.
  Contribution contribution_of(std::int64_t rank, std::int64_t step,
                               std::span<const float> parameters);

  // How many it has made.
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  const Task& task_;
  JobPlan& plan_;
  const Dataset& dataset_;
  const Sampler sampler_;
  NodeSums sums_;
  Batch batch_;
  std::int64_t newest_ = 0;  // the newest step that something was inherited of
  std::int64_t count_ = 0;
};

}  // namespace trainyard::runtime
