// The floats of a ps, chunk by chunk: weights by version, optimizer slots, gradients that came, and
// copies for snapshots. What is done with them, and when, ParameterServer says. One thread owns a
// store; what it hands out may be read and dropped on any. Weights and slots may live elsewhere:
// then an update is under way for a while, and new weights are here once bring() has brought them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/resident_share.h"
#include "runtime/net/chunks/chunk_gradients.h"
#include "runtime/net/chunks/chunk_weights.h"
#include "runtime/net/chunks/share_copies.h"
#include "runtime/net/chunks/share_residuals.h"
#include "runtime/net/chunks/store_layout.h"
#include "runtime/ps/parameter_server.h"

namespace trainyard::runtime {

class ChunkStore {
 public:
  using Rules = StoreRules;
  // Of all chunks, one after another: the weights, and the slots in the order of slot_names().
  ChunkStore(Rules rules, const AlignedBuffer& weights, const std::vector<AlignedBuffer>& slots);

  [[nodiscard]] const StoreLayout& layout() const { return *layout_; }
  [[nodiscard]] std::int64_t chunks() const { return layout_->chunks(); }
  [[nodiscard]] bool has_residuals() const { return layout_->rules().push == Wire::onebit; }

  // Sync. From now on all chunks but those of state are updated there. What fails there is thrown
  // as ShareFailed by the functions below.
  void reside(std::unique_ptr<ResidentShare> share) { resident_ = std::move(share); }
  // The chunk's newest weights are here when it returns.
  void bring(std::int64_t chunk);
  [[nodiscard]] bool has_under_way() const { return !under_way_.empty(); }

  // Of what is here.
  [[nodiscard]] ChunkWeights& weights() { return weights_; }
  [[nodiscard]] ChunkGradients& gradients() { return gradients_; }

  using Residuals = ShareResiduals;
  // As RestoredResiduals has them.
  void restore_residuals(const Residuals& residuals) { restored_.restore(residuals); }
  [[nodiscard]] const RestoredResiduals& restored() const { return restored_; }

  struct UpdateScale {
    double learning_rate = 0;
    float gradient_scale = 1;  // to be the mean of examples
  };
  // With clip_norm: adds the squares of the sum of gradients that have come.
  void measure(const MeasureChunk& what);
  // Of all chunks, once they are measured.
  [[nodiscard]] const ExactSum& squares() const { return squares_; }
  // Of all shares of the gradient; without it this one has all of it.
  void know_squares(double squares) { all_squares_ = squares; }
  // Of gradients that have come. Bits depend on the order of nodes in the tree alone.
  void update(const UpdateChunk& what, const UpdateScale& scale);

  using Copy = ShareCopy;
  // As ShareCopies has them.
  void copy(const CopyChunk& what);
  void residual_came(const ResidualCame& residual, std::span<const std::byte> bytes) {
    copies_.residual_came(residual, bytes);
  }
  std::optional<Copy> save(const SaveCopy& what) { return copies_.save(what); }
  // Of all chunks as they are now, with the residuals of ranks that have changed none of them.
  [[nodiscard]] Copy copy_all();

 private:
  // An update elsewhere, and the place of what it makes.
  struct UnderWay {
    UpdateChunk what;
    ChunkWeights::VersionPtr next;
  };
  [[nodiscard]] UpdateStep step_of(const UpdateChunk& what, const UpdateScale& scale) const;
  void apply(const UpdateChunk& what, const UpdateStep& step, std::span<float> next);
  [[nodiscard]] bool lives_elsewhere(std::int64_t chunk) const {
    return resident_ != nullptr && !layout_->is_state(chunk);
  }
  [[nodiscard]] ResidentShare::Part part_of(std::int64_t chunk) const;
  void apply_elsewhere(const UpdateChunk& what, const UpdateStep& step);
  void take_oldest();
  void bring_slots(std::int64_t chunk);

  StoreLayoutPtr layout_;
  std::int64_t measured_ = 0;  // the version that squares_ are of
  ExactSum squares_;
  std::optional<double> all_squares_;
  std::vector<AlignedBuffer> slots_;
  ChunkWeights weights_;
  ChunkGradients gradients_;
  RestoredResiduals restored_;
  ShareCopies copies_;
  std::unique_ptr<ResidentShare> resident_;  // none: all is here
  std::deque<UnderWay> under_way_;
};

}  // namespace trainyard::runtime
