// The gradient of a step on several GPUs of one worker (runtime/model/replicas), each of which
// reads batches of its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/model/replicas.h"
#include "runtime/role/step_gradient.h"

namespace trainyard::runtime {

class ReplicaGradient final : public StepGradient {
 public:
  // `others`: the plan's model on the other GPUs. `invalid` where there are more GPUs than leaves.
  static Result<std::unique_ptr<ReplicaGradient>> open(const GradientParts& parts,
                                                       std::int64_t rank,
                                                       std::vector<Model>& others);

  void start(std::int64_t first_step) override;
  void stop() override;
  Result<bool> add_up(WorkerStep& step) override;

 private:
  ReplicaGradient(const GradientParts& parts, Replicas::Setting setting);
  const Batch* next_batch(std::size_t replica);
  Result<Replicas::Step::Then> tell(WorkerStep& step, std::span<const BatchResult> results);
  std::string words_of_loss(std::int64_t step, std::int64_t leaf) const;
  [[nodiscard]] Sampler sampler() const;

  // A replica's batches, of its own thread while a step is computed.
  struct Reader {
    std::unique_ptr<Prefetcher> batches;
    Status fault = ok();  // why there is none
    Seconds waited{};     // in all steps
  };

  const GradientParts parts_;
  const std::int64_t first_leaf_;
  const std::int64_t nodes_;
  ThreadTeam team_;  // that adds
  Replicas replicas_;
  std::vector<Reader> readers_;
  std::vector<std::span<std::uint16_t>> rounded_;  // of the step, by node
  std::optional<std::int64_t> lost_leaf_;          // of the step, whose loss is no number
};

}  // namespace trainyard::runtime
