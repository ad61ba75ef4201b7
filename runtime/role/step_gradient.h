// How a worker computes the gradient of a step: its batches, and the sums of its nodes of the
// reduction tree. On one model (ModelGradient), or on several GPUs together (ReplicaGradient).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/prefetch.h"
#include "runtime/model/node_sums.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/step_rows.h"
#include "runtime/role/task.h"
#include "runtime/role/timed_exchange.h"

namespace trainyard::runtime {

// A step that is computed.
struct WorkerStep {
  std::int64_t number = 0;
  BatchSums sums = {};
  std::string why_lost = {};            // of the first leaf whose loss is no number
  std::optional<Status> told = {};      // by TimedExchange::tell(), once it was called
  std::vector<RowGradients> rows = {};  // of each node
  Seconds beside{};                     // calls to the exchange while other threads computed
};

class StepGradient {
 public:
  virtual ~StepGradient() = default;

  // Begins to read batches, from those of this step on. Once.
  virtual void start(std::int64_t first_step) = 0;
  // No batch comes any more. From any thread, after start().
  virtual void stop() = 0;

  // Into the exchange's gradient. What of it is final leaves while the rest is computed, and the
  // step is told then. False when asked to stop.
  virtual Result<bool> add_up(WorkerStep& step) = 0;
};

// What both work with; it outlives them.
struct GradientParts {
  const Task& task;
  JobPlan& plan;
  const Dataset& dataset;
  TimedExchange& exchange;
};

// Which batches a task reads, from a step on, of these leaves.
BatchPlan batches_of(const JobPlan& plan, Leaves leaves, std::int64_t first_step);

class ModelGradient final : public StepGradient {
 public:
  // `rows`: of an embedding table; none: the model has none.
  ModelGradient(const GradientParts& parts, std::int64_t rank, StepRows* rows);

  void start(std::int64_t first_step) override;
  void stop() override { batches_->stop(); }
  Result<bool> add_up(WorkerStep& step) override;

 private:
  Result<bool> add_up_node(const Leaves& node, NodeSum sum);
  Result<bool> next_leaf(NodeSum sum);
  Result<bool> leaf_gradient(const Batch& batch, NodeSum sum);
  void add_result(const BatchResult& result);
  [[nodiscard]] bool can_stream() const;
  Result<bool> read_rows(const Batch& batch);

  const GradientParts parts_;
  const Leaves leaves_;
  const std::vector<Leaves> nodes_;
  StepRows* const rows_;
  NodeSums sums_;
  std::unique_ptr<Prefetcher> batches_;
  WorkerStep* step_ = nullptr;  // that is computed
  bool is_last_leaf_ = false;
  bool adds_on_device_ = false;  // the leaves of a node
  std::optional<LeafOfNode> leaf_;
  std::span<std::uint16_t> rounded_;  // of the node that is computed: as in StepExchange
};

// The words that a sentence about a loss that is no number goes on with: where the numbers end. The
// step's parameters are still there. `rows` as in LostStep.
std::string why_lost(const GradientParts& parts, std::int64_t step, const Batch& batch,
                     RowBatch* rows);

}  // namespace trainyard::runtime
