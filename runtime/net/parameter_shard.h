// What a ps holds: the weights of its share and their optimizer slots. Weights are versioned and
// immutable: an update writes a spare buffer and flips, so that replies alias them without a copy.
// Slots are updated where they lie, unless a snapshot reads them: then one update writes spare ones
// and flips, too. One thread owns a shard; what it hands out may be read and dropped on any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/math/thread_team.h"
#include "runtime/net/pool.h"
#include "runtime/net/tree_sum.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// One version of them.
class WeightsBuffer {
 public:
  // `rounded` holds a bfloat16 for each, two to a float, or nothing.
  WeightsBuffer(AlignedBuffer master, AlignedBuffer rounded)
      : master_(std::move(master)), rounded_(std::move(rounded)) {}

  [[nodiscard]] const AlignedBuffer& master() const { return master_; }
  [[nodiscard]] const AlignedBuffer& rounded() const { return rounded_; }
  [[nodiscard]] std::span<float> span() { return master_.span(); }
  [[nodiscard]] std::span<const float> span() const { return master_.span(); }
  [[nodiscard]] const float* data() const { return master_.data(); }
  [[nodiscard]] std::size_t size() const { return master_.size(); }

  // Copies elements [begin, begin + count) of the master, rounded, where a rounded copy is kept.
  void round(std::size_t begin, std::size_t count);
  // The bytes of the rounded copy as a frame carries them.
  [[nodiscard]] std::span<const std::byte> rounded_bytes() const;

 private:
  AlignedBuffer master_;
  AlignedBuffer rounded_;
};

using Weights = std::shared_ptr<const WeightsBuffer>;

// By slot, in the order of slot_names().
using Slots = std::shared_ptr<const std::vector<AlignedBuffer>>;

class ParameterShard {
 public:
  // All of `slots` have the weights' length, in the order of slot_names(optimizer.kind).
  ParameterShard(const OptimizerConfig& optimizer, AlignedBuffer weights,
                 std::vector<AlignedBuffer> slots);

  // Between two updates: the same weights and slots, to be updated apart. Nothing is copied before
  // an update of either.
  [[nodiscard]] ParameterShard fork();
  // Between two updates: the slots as they are, for a snapshot. They stay so.
  [[nodiscard]] Slots lend_slots();

  // From now on the weights lie in buffers that `make` gives; a buffer is used again once it is
  // dropped, and is never freed before the shard. With bfloat16 a rounded copy is kept beside them.
  using MakeBuffer = std::function<AlignedBuffer(std::size_t elements)>;
  void move_to(MakeBuffer make, Wire wire = Wire::float32);

  // From now on updates of a large shard are shared out among the threads of a team.
  void share_out(std::unique_ptr<ThreadTeam> team) { team_ = std::move(team); }

  struct Update {
    double learning_rate = 0;
    std::int64_t step = 1;  // the optimizer's: committed updates with this one
    float gradient_scale = 1;
  };

  // Memory for a gradient of elements() floats that comes from elsewhere: see write_in().
  [[nodiscard]] std::shared_ptr<WeightsBuffer> landing() const;
  // The update that has begun, or begins now, is made in this landing, where all its sum lies: each
  // element is read before the new one takes its place. So two buffers go through the cache, not
  // three. None: it is made apart. What is updated nobody may write any more, nor read before the
  // update is made. An earlier landing, of a gradient that never was whole, is left to who writes
  // it.
  void write_in(const std::shared_ptr<WeightsBuffer>& landing);

  // The sum of a step's gradients, to be read from element `begin` on.
  using SumFrom = std::function<TreeSum(std::size_t begin)>;
  // Reads the sum, applies it and flips to the new weights, in one pass. The bits do not depend on
  // the number of threads: every element is updated for itself.
  void apply(const SumFrom& gradient, const Update& update);
  // Ahead of it, of the same sum and update: what it would do with the elements from `from` on. The
  // weights are those of before until apply(), the slots are not. On the caller's thread alone.
  void apply_tail(const SumFrom& gradient, const Update& update, std::int64_t from);
  // From here on the elements are updated ahead; elements() between two updates.
  [[nodiscard]] std::int64_t updated_from() const { return next_ ? updated_from_ : elements(); }
  // Where they lie, and will lie when the update is made; none between two updates.
  [[nodiscard]] Weights updated_ahead() const { return next_; }

  [[nodiscard]] const Weights& weights() const { return weights_; }
  [[nodiscard]] const std::vector<AlignedBuffer>& slots() const { return *slots_; }
  [[nodiscard]] std::int64_t elements() const {
    return static_cast<std::int64_t>(weights_->size());
  }

 private:
  using OwnSlots = std::shared_ptr<std::vector<AlignedBuffer>>;
  using SlotsPool = std::shared_ptr<Pool<std::vector<AlignedBuffer>>>;

  ParameterShard(const OptimizerConfig& optimizer, Weights weights, OwnSlots lent, SlotsPool pool);
  // Where it is made, unless it has begun.
  void begin_update();
  // The `i`-th of the parts that threads take at a time.
  void apply_part(const SumFrom& gradient, const Update& update, Range range, std::size_t i);
  void apply_range(TreeSum gradient, const Update& update, Range range, WeightsBuffer& next);

  OptimizerConfig optimizer_;
  std::shared_ptr<Pool<WeightsBuffer>> pool_;
  Weights weights_;
  SlotsPool slots_pool_;
  OwnSlots slots_;
  bool slots_are_lent_ = false;
  std::unique_ptr<ThreadTeam> team_;     // none: the caller updates alone
  std::shared_ptr<WeightsBuffer> next_;  // of an update that has begun
  OwnSlots next_slots_;                  // of one whose slots are lent
  std::int64_t updated_from_ = 0;        // in it
  bool in_landing_ = false;              // `next_` is one
};

}  // namespace trainyard::runtime
