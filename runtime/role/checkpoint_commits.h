// The chief's checkpoints become files that count: one at a time, beside training. Waits until all
// shards are durable, tests what no worker has, writes the manifest.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/files/manifest_file.h"
#include "runtime/role/evaluate.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"
#include "schemas/types/retention.h"

namespace trainyard::runtime {

class CheckpointCommits {
 public:
  // All outlive this.
  struct Parts {
    const Task& task;
    const JobPlan& plan;
    const Dataset& dataset;
    StepExchange& exchange;
    std::string computed_on;  // as Hello::fingerprint
  };
  explicit CheckpointCommits(Parts parts) : parts_(std::move(parts)) {}
  // Waits for the one that is under way, but not for long for one that this task's next gradient
  // might have to mark: who fails makes none.
  ~CheckpointCommits();
  CheckpointCommits(const CheckpointCommits&) = delete;
  CheckpointCommits& operator=(const CheckpointCommits&) = delete;

  enum class Kind {
    regular,
    ordered,     // no step is made behind it
    of_the_end,  // it needs no snapshot that was begun
  };
  struct Checkpoint {
    std::int64_t step = 0;
    MetricValues metrics;  // of that step; none: they are found out here, where they can be
    Kind kind = Kind::regular;
  };
  // On a thread of its own, once the one before is committed.
  Status start(Checkpoint checkpoint);
  // Here and now. Of the last step.
  Status finish(Checkpoint checkpoint);

  [[nodiscard]] bool is_under_way() const;
  // Until none is. Its error, with the task's cause: NAN_LOSS where a number to save is none,
  // PEER_LOST where a ps is gone, else CHECKPOINT_FAILED.
  Status await();

 private:
  Status commit(Checkpoint checkpoint);
  MetricValues test_again(std::int64_t step);
  [[nodiscard]] Status blame(Status committed) const;
  [[nodiscard]] std::vector<std::int64_t> kept_with(std::int64_t step) const;

  Parts parts_;
  std::unique_ptr<JobPlan> tester_;  // made by the first checkpoint that is read back
  std::vector<Ranked> committed_;    // changed by commit(), one at a time
  std::future<Status> under_way_;    // which uses all of the above
};

}  // namespace trainyard::runtime
