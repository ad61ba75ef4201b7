// What every task of a job works out for itself from its spec and data, and all must agree on: the
// model's arena, who holds which part of it, how many steps there are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/arena_layout.h"
#include "runtime/data/dataset.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/model/model.h"
#include "runtime/net/aggregator.h"
#include "runtime/role/failure_cause.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {

struct JobPlan {
  Model model;
  std::vector<Share> shares;  // by task that holds parameters
  OptimizerConfig optimizer;
  std::vector<std::string> slot_names;
  std::int64_t ranks = 1;      // tasks that compute gradients
  std::int64_t aggregate = 1;  // contributions of ranks that a sync step waits for
  std::int64_t leaves = 1;     // gradients that a sync step adds up; async: one for each rank
  std::int64_t max_steps = 1;
  Wire wire = Wire::float32;

  // Leaves whose encoding has a residual; 0 where none has.
  [[nodiscard]] std::int64_t residual_leaves() const { return wire == Wire::onebit ? leaves : 0; }
  [[nodiscard]] bool has_backups() const { return aggregate < ranks; }
  // Of the task that holds share `index`.
  [[nodiscard]] Aggregator::Rules rules(const JobSpec& spec, std::size_t index) const;
};

// `batch_size` is the largest batch that the model is to be given.
Result<JobPlan> plan_job(const JobSpec& spec, const DatasetShape& data, std::int64_t batch_size);

// A share of the parameters to start with: from the checkpoint where there is one, else from the
// seed.
struct StartingShare {
  ParameterShard shard;
  Aggregator::Start start;
  std::optional<RowTable> rows{};  // of the embedding table, where the model has one
};
Result<StartingShare> starting_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index);
// The same, and why a task fails without it: its checkpoint is lost, or of another model or
// optimizer, which it will always be.
Result<StartingShare> with_cause(Result<StartingShare> share, FailureCause& cause);
// Async: its rank_steps alone, one for each rank.
Result<std::vector<std::int64_t>> starting_steps(const TaskContext& context, const JobPlan& plan);
// The same of a ps whose process died and was started again alone: from the newest shard that it
// has itself made durable, where there is one that is whole.
Result<StartingShare> returned_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index);

}  // namespace trainyard::runtime
