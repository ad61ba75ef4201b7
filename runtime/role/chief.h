// What the chief does beside its own gradients: metrics, evaluation and checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/progress.h"
#include "runtime/role/row_exchange.h"
#include "runtime/role/save_order.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"
#include "schemas/types/retention.h"
#include "schemas/wire/checkpoint_json.h"

namespace trainyard::runtime {

class Chief {
 public:
  struct Parts {
    const Task& task;
    JobPlan& plan;
    const Dataset& dataset;
    StepExchange& exchange;
    RowExchange* rows;  // none: the model has no embedding table
  };

  // `start`: the version that training goes on from.
  Chief(Parts parts, std::int64_t start);
  // Waits for the checkpoint that is under way.
  ~Chief();
  Chief(const Chief&) = delete;
  Chief& operator=(const Chief&) = delete;

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
  struct Checkpoint {
    std::int64_t step = 0;
    std::map<std::string, double> metrics;
    bool final_one = false;
    bool ordered = false;  // after it there is no step
  };
  using Values = std::map<std::string, double>;  // metrics, by name

  // Whether the chief's own steps say which version a checkpoint is of; else whoever saves it does.
  [[nodiscard]] bool is_sync() const {
    return parts_.plan.mode == Mode::sync && !parts_.plan.has_backups();
  }
  [[nodiscard]] std::int64_t made_before(std::int64_t step);
  void take_news();
  [[nodiscard]] bool marks_end() const;
  Result<std::int64_t> next_checkpoint(std::int64_t next);
  [[nodiscard]] std::int64_t due_checkpoint(std::int64_t version) const;
  [[nodiscard]] bool may_report() const;
  [[nodiscard]] bool is_saved_version(std::int64_t due, std::int64_t version) const;
  Status start_commit(std::int64_t due, std::int64_t version);
  enum class Evaluates { no, yes };
  Status report(std::int64_t version, Evaluates evaluates);
  void log_progress(std::int64_t version);
  // With the rows of the newest version, where there are any.
  Result<Values> evaluate(Model& model, std::span<const float> parameters);
  Values test_again(std::int64_t step);
  Status hold();
  Status commit(Checkpoint checkpoint);
  Status commit_under_way();  // waits for it
  [[nodiscard]] Status blame(Status committed) const;
  Manifest manifest_of(const Checkpoint& checkpoint, const std::vector<WrittenShard>& shards) const;
  [[nodiscard]] std::vector<std::int64_t> kept_with(std::int64_t step) const;

  Parts parts_;
  const TrainingSpec& training_;
  const CheckpointSpec& saving_;
  Progress progress_;
  std::int64_t version_;    // the newest that has been heard of
  Values reported_values_;  // of the last report
  std::int64_t reported_;   // version of the last report
  std::chrono::steady_clock::time_point reported_at_;
  std::int64_t evaluated_;
  std::int64_t saved_;  // name of the last checkpoint
  SaveOrder order_;
  std::optional<std::int64_t> ordered_;  // name of the checkpoint that was asked for because of it
  std::optional<std::int64_t> asked_;    // name of the one that is being made
  std::chrono::steady_clock::time_point saved_at_;
  std::chrono::steady_clock::time_point logged_at_;
  std::unique_ptr<JobPlan> tester_;  // made by the first checkpoint that is read back
  std::future<Status> under_way_;
  std::vector<Ranked> committed_;  // changed by commit(), one at a time
};

}  // namespace trainyard::runtime
