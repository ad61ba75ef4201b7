// What a worker does for ranks that are not there (runtime/core/heirs).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
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
  // All outlive the heir; `sums` is the worker's own, which it does not use meanwhile.
  Heir(const Task& task, JobPlan& plan, const Dataset& dataset, NodeSums& sums);

  // Computes what is asked for from the parameters of the version before, and gives it to every ps.
  // False when asked to stop.
  Result<bool> stand_in(const Inheritance& asked, std::span<const float> parameters,
                        ParamsChannel& params);

  // How many gradients it has made for others, and the time that took since the last call.
  [[nodiscard]] std::int64_t count() const { return count_; }
  Seconds take_computing() { return std::exchange(computing_, {}); }

 private:
  Result<bool> compute(std::int64_t rank, std::span<const float> parameters,
                       std::span<float> gradient, Contribution& contribution);
  void note(std::int64_t rank, std::int64_t step);

  const Task& task_;
  JobPlan& plan_;
  const Dataset& dataset_;
  const Sampler sampler_;
  NodeSums& sums_;
  Batch batch_;
  std::map<std::int64_t, std::int64_t> newest_;  // by rank: the newest step that was made for it
  std::int64_t count_ = 0;
  Seconds computing_{};
};

}  // namespace trainyard::runtime
