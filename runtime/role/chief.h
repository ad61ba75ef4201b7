// What the chief does beside its own gradients: metrics, evaluation and checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/net/params_channel.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/progress.h"
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

  // After each answer to a push, whose step took `times`: reports, evaluates and commits what is
  // due.
  Status after_step(const Pulled& pulled, const StepTimes& times);

  // After the last step: evaluates the `parameters` of the last version, which `last` brought,
  // commits the final checkpoint, tells the ps to exit.
  Status finish(const Pulled& last);

 private:
  struct Checkpoint {
    std::int64_t step = 0;
    std::map<std::string, double> metrics;
    bool final_one = false;
  };

  [[nodiscard]] std::int64_t due_checkpoint(const Pulled& pulled) const;
  Status report(std::int64_t version, std::span<const float> parameters, bool evaluate_too);
  void log_progress(std::int64_t version);
  Status evaluate(std::span<const float> parameters);
  Status commit(Checkpoint checkpoint);
  Status commit_under_way();  // waits for it
  [[nodiscard]] bool is_lost_with_ps(const Error& error) const;
  Result<std::vector<WrittenShard>> snapshot_again(const SnapshotDesk::Request& request);
  Status report_again(const Pulled& last);
  [[nodiscard]] Status blame(Status committed) const;
  static std::vector<std::int64_t> steps_of_all(const std::vector<WrittenShard>& shards);
  Manifest manifest_of(const Checkpoint& checkpoint, const std::vector<WrittenShard>& shards) const;
  [[nodiscard]] std::vector<std::int64_t> kept_with(std::int64_t step) const;

  Parts parts_;
  const TrainingSpec& training_;
  const CheckpointSpec& saving_;
  Progress progress_;
  std::map<std::string, double> newest_;  // metrics, by name
  std::int64_t reported_;                 // version of the last report
  std::int64_t evaluated_;
  std::int64_t saved_;              // name of the last checkpoint
  std::deque<std::int64_t> asked_;  // names of pushes under way, and of the next: at most two
  std::chrono::steady_clock::time_point saved_at_;
  std::chrono::steady_clock::time_point logged_at_;
  std::future<Status> under_way_;
  std::vector<Ranked> committed_;  // changed by commit(), one at a time
};

}  // namespace trainyard::runtime
