// What the chief does beside its own gradients: metrics, evaluation and checkpoints.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/core/checkpoint_schedule.h"
#include "runtime/data/dataset.h"
#include "runtime/role/checkpoint_commits.h"
#include "runtime/role/evaluate.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/progress.h"
#include "runtime/role/row_exchange.h"
#include "runtime/role/save_order.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

class Chief {
 public:
  struct Parts {
    const Task& task;
    JobPlan& plan;
    const Dataset& dataset;
    StepExchange& exchange;
    RowExchange* rows;        // none: the model has no embedding table
    std::string computed_on;  // as Hello::fingerprint
    std::int64_t gpus = 0;    // that compute its gradients; 0: the CPU does
  };

  // `start`: what had been applied when this task came, and the version that it goes on from.
  // Going away waits for the checkpoint that is under way.
  Chief(Parts parts, const ExchangeNews& start);

  // Before a step is computed: evaluates and commits what is due. After a checkpoint that it was
  // ordered to save it returns only when asked to stop.
  Status before_step(std::int64_t step);
  // In the step, with all parameters there and nothing of its gradient settled: reports, and begins
  // the checkpoint that the step is for. Waits for the one before it, so that there is never more
  // than one under way.
  Status begin_snapshot(std::int64_t step);
  // Told of what this task's steps take and send.
  Progress& progress() { return progress_; }

  // After the last step: evaluates, commits the final checkpoint.
  Status finish();

 private:
  // Whether the chief's own steps say which version a checkpoint is of; else whoever saves it does.
  [[nodiscard]] bool is_sync() const {
    return parts_.plan.mode == Mode::sync && !parts_.plan.has_backups();
  }
  [[nodiscard]] std::int64_t made_before(std::int64_t step);
  void take_news();
  [[nodiscard]] bool marks_end() const;
  Result<std::int64_t> next_checkpoint(std::int64_t next);
  std::int64_t waiting_checkpoints(Time now);
  [[nodiscard]] bool may_report() const;
  [[nodiscard]] bool is_saved_version(std::int64_t due, std::int64_t version) const;
  Status start_commit(std::int64_t due, std::int64_t version);
  enum class Evaluates { no, yes };
  Status report(std::int64_t version, Evaluates evaluates);
  void log_progress(std::int64_t version);
  Status hold();

  Parts parts_;
  const TrainingSpec& training_;
  Progress progress_;
  std::int64_t version_;          // the newest that has been heard of
  MetricValues reported_values_;  // of the last report
  std::int64_t reported_;         // version of the last report
  std::chrono::steady_clock::time_point reported_at_;
  std::chrono::steady_clock::time_point logged_at_;
  std::int64_t evaluated_;  // the newest version that was
  SaveOrder order_;
  CheckpointSchedule schedule_;
  std::int64_t waiting_ = 0;  // checkpoints that were not delivered when they were counted
  Time count_again_at_;
  CheckpointCommits commits_;
};

}  // namespace trainyard::runtime
