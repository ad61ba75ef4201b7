// What every task of a job works out for itself from its spec and data, and all must agree on: the
// model's arena, who holds which part of it, how many steps there are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/arena_layout.h"
#include "runtime/core/reduction_tree.h"
#include "runtime/data/dataset.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/arena_update.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/math/rows/row_tables.h"
#include "runtime/model/model.h"
#include "runtime/ps/parameter_server.h"
#include "runtime/role/failure_cause.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {

struct JobPlan {
  Model model;
  DataShape data = {};        // what an example of the data set is
  std::vector<Share> shares;  // by task that holds parameters
  OptimizerConfig optimizer;
  ArenaUpdate update;  // which elements of the arena it is for
  MeanOver mean_over = MeanOver::examples;
  double clip_norm = 0;                 // of the mean gradient, at most; 0: any
  std::int64_t state_begin = no_state;  // of the arena, as state_begin_of() has it
  std::vector<std::string> slot_names;
  std::string words_sha256;  // as of DatasetShape
  Mode mode = Mode::sync;
  std::int64_t ranks = 1;      // tasks that compute gradients
  std::int64_t aggregate = 1;  // contributions of ranks that a sync step waits for
  std::int64_t leaves = 1;     // gradients that a sync step adds up; async: one for each rank
  std::int64_t leaf_examples = 1;
  std::int64_t max_steps = 1;
  Wire push = Wire::float32;
  Wire pull = Wire::float32;

  // Leaves whose encoding has a residual; 0 where none has.
  [[nodiscard]] std::int64_t residual_leaves() const { return push == Wire::onebit ? leaves : 0; }
  [[nodiscard]] bool has_backups() const { return aggregate < ranks; }
  // Sync: by those who hold parameters.
  [[nodiscard]] ParameterServer::Rules::Clipping clipping() const;
  // Async: by who sends it.
  [[nodiscard]] bool clips_pushes() const { return mode == Mode::async && clip_norm > 0; }
  // The pieces in which the arena travels.
  [[nodiscard]] std::vector<ArenaChunk> chunks() const;
  // The leaves of the reduction tree whose gradients a rank computes, and the nodes that it sends.
  [[nodiscard]] Leaves leaves_of_rank(std::int64_t rank) const;
  [[nodiscard]] std::vector<Leaves> nodes_of_rank(std::int64_t rank) const;
  // What the sum of a step is multiplied by to be the mean of its examples: of gradients that are
  // to be the mean of tokens each step says it.
  [[nodiscard]] float gradient_scale() const;
  // Of all that tasks have to agree on to understand each other's bytes.
  [[nodiscard]] std::uint64_t hash() const;
};

// `batch_size` is the largest batch that the model is to be given, `threads` how many compute it,
// unless a GPU does, which outlives the plan.
Result<JobPlan> plan_job(const JobSpec& spec, const DatasetShape& data, std::int64_t batch_size,
                         std::int64_t threads = 1, Device* gpu = nullptr);

// A share of the parameters to start with: from the checkpoint where there is one, else from the
// seed.
struct StartingShare {
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps = {};  // async: the newest step of each rank in it
  AlignedBuffer weights;                      // the share's ranges, one after another
  std::vector<AlignedBuffer> slots;
  std::map<std::int64_t, AlignedBuffer> residuals = {};  // by leaf
  std::optional<RowTables> rows{};  // of the embedding tables, where the model has some
  std::string computed_on = {};     // what made the checkpoint, as Hello::fingerprint
};
Result<StartingShare> starting_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index);
// The same, and why a task fails without it: its checkpoint is lost, or of another model or
// optimizer, which it will always be.
Result<StartingShare> with_cause(Result<StartingShare> share, FailureCause& cause);

}  // namespace trainyard::runtime
