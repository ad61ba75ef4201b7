// What the chief does beside its own gradients: metrics, evaluation and checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/net/params_channel.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/progress.h"
#include "runtime/role/save_order.h"
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
    ParamsChannel& params;
  };

  // `start`: the version that training goes on from.
  Chief(Parts parts, std::int64_t start);
  // Waits for the checkpoint that is under way.
  ~Chief();
  Chief(const Chief&) = delete;
  Chief& operator=(const Chief&) = delete;

  // The name of the checkpoint that the push which makes `next` is to carry; 0 = none. Asked once
  // for each push, with it or with the one before. Waits for the checkpoint before it, so that
  // there is never more than one under way.
  Result<std::int64_t> snapshot_step(std::int64_t next);

  // The checkpoint of this name is the one that was ordered: nobody is to push after it. With
  // max_staleness they go on: who waits for a slower one could else not mark it.
  [[nodiscard]] bool holds_after(std::int64_t name) const;

  // After each answer to a push, whose step took `times`: reports, evaluates and commits what is
  // due. After a checkpoint that it was ordered to save it returns only when asked to stop.
  Status after_step(const Pulled& pulled, const StepTimes& times);

  // After the last step: evaluates the `parameters` of the last version, which `last` brought,
  // commits the final checkpoint, tells the ps to exit.
  Status finish(const Pulled& last);

 private:
  struct Checkpoint {
    std::int64_t step = 0;
    std::map<std::string, double> metrics;
    bool final_one = false;
    bool ordered = false;  // after it there is no step
  };
  using Values = std::map<std::string, double>;  // metrics, by name

  [[nodiscard]] std::int64_t due_checkpoint(const Pulled& pulled) const;
  [[nodiscard]] bool may_report() const;
  [[nodiscard]] bool is_saved_version(std::int64_t due, const Pulled& pulled) const;
  Status report_due(const Pulled& pulled, std::int64_t due);
  Status report(std::int64_t version, std::span<const float> parameters, bool evaluate_too);
  void log_progress(std::int64_t version);
  Result<Values> evaluate(Model& model, std::span<const float> parameters);
  Values test_again(std::int64_t step);
  Status hold();
  Status commit(Checkpoint checkpoint);
  Status commit_under_way();  // waits for it
  [[nodiscard]] bool is_lost_with_ps(const Error& error) const;
  Result<std::vector<WrittenShard>> snapshot_again(const SnapshotDesk::Request& request);
  Status report_again(const Pulled& last, const Values& tested);
  [[nodiscard]] Status blame(Status committed) const;
  static std::vector<std::int64_t> steps_of_all(const std::vector<WrittenShard>& shards);
  Manifest manifest_of(const Checkpoint& checkpoint, const std::vector<WrittenShard>& shards) const;
  [[nodiscard]] std::vector<std::int64_t> kept_with(std::int64_t step) const;

  Parts parts_;
  const TrainingSpec& training_;
  const CheckpointSpec& saving_;
  Progress progress_;
  Values reported_values_;  // of the last report
  std::int64_t reported_;   // version of the last report
  std::chrono::steady_clock::time_point reported_at_;
  std::int64_t evaluated_;
  std::int64_t saved_;  // name of the last checkpoint
  SaveOrder order_;
  std::optional<std::int64_t> ordered_;  // name of the checkpoint that was asked for because of it
  std::deque<std::int64_t> asked_;       // names of pushes under way, and of the next: at most two
  std::chrono::steady_clock::time_point saved_at_;
  std::chrono::steady_clock::time_point logged_at_;
  std::unique_ptr<JobPlan> tester_;  // made by the first checkpoint that is read back
  std::future<Status> under_way_;
  std::vector<Ranked> committed_;  // changed by commit(), one at a time
};

}  // namespace trainyard::runtime
