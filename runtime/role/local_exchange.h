// The parameters in the worker's own process: strategy `local`, and the reference in tests. Updated
// where they lie: on the device that computes, where they fit there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/math/optim/arena_update.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/math/thread_team.h"
#include "runtime/model/resident_parameters.h"
#include "runtime/net/rows/row_store.h"
#include "runtime/role/step_exchange.h"

namespace trainyard::runtime {

class LocalExchange final : public StepExchange {
 public:
  struct Rules {
    OptimizerConfig optimizer;
    ArenaUpdate update = {};
    std::int64_t state_begin = no_state;  // of the arena
    std::int64_t max_steps = 1;
    MeanOver mean_over = MeanOver::examples;
    double clip_norm = 0;      // of the mean gradient, at most; 0: any
    float gradient_scale = 1;  // to be the mean of examples
    std::function<double(std::int64_t version)> learning_rate_at;
    Threads threads = {};  // that update it together
  };
  struct Start {
    std::int64_t version = 0;
    AlignedBuffer weights;  // of the whole arena
    std::vector<AlignedBuffer> slots;
    // Both, where they live on a device: these are its newest words at snapshots and at the end.
    std::unique_ptr<ResidentParameters> resident = nullptr;
    std::string computed_on = {};
  };
  // `rows`: of the embedding table, where the model has one.
  LocalExchange(Rules rules, Start start, std::optional<RowStore> rows, SnapshotFiles files);

  Result<NextStep> next() override;
  [[nodiscard]] ParameterPlace parameters() const override { return weights_.span(); }
  [[nodiscard]] std::span<const float> parameters_on_host() override;
  Status await_parameters(std::int64_t /*end*/) override { return ok(); }
  [[nodiscard]] std::span<float> gradient() override { return gradient_.span(); }
  [[nodiscard]] ResidentParameters* resident() override { return resident_.get(); }
  void settle(std::int64_t from) override;
  [[nodiscard]] bool is_finite() const override { return is_finite_; }
  void tell_sums(std::int64_t step, const BatchSums& sums) override;
  ExchangeNews take_news() override;
  void begin_snapshot(std::int64_t snapshot, AfterSnapshot then) override;
  [[nodiscard]] std::int64_t marked_snapshot() const override { return snapshot_; }
  Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request) override;
  Result<AlignedBuffer> read_snapshot(std::int64_t snapshot) override;
  Result<std::unique_ptr<RowExchange>> open_rows() override;
  void leave(Leaving /*who*/) override {}
  [[nodiscard]] std::string computed_on() const override { return computed_on_; }

 private:
  [[nodiscard]] UpdateStep next_update() const;
  void update(const UpdateStep& step, const Part& part);
  void update_all(const UpdateStep& step);
  std::span<const float> state_sums();
  void save(std::int64_t step);

  Rules rules_;
  std::int64_t version_;
  AlignedBuffer weights_;
  std::vector<AlignedBuffer> slots_;
  std::unique_ptr<ResidentParameters> resident_;  // none: they are the host's
  AlignedBuffer gradient_;
  bool is_finite_ = true;
  std::optional<RowStore> rows_;
  BatchSums sums_;
  BatchSums step_sums_;  // of the step that is computed
  std::int64_t snapshot_ = 0;
  std::string computed_on_;
  SnapshotWriter writer_;
};

}  // namespace trainyard::runtime
