// Parameters with their optimizer's slots that live on the device of a model, or on those of
// several that compute a step together (runtime/model/replicas). There each device has them all;
// the sum of the step's gradients goes from device to device along the reduction tree and then to
// each, which changes its own: the same operations on the same numbers, so the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/device_buffer.h"
#include "runtime/graph/resident_arena.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "runtime/model/replica_tree.h"

namespace trainyard::runtime {

class ResidentParameters {
 public:
  // From then on the models compute with what lives there where they are given `weights`. Null
  // where a CPU computes one, where they have tables of rows, and where a device has too little
  // memory. `node`: the leaves of a step, one for each model at least. It goes before the models.
  static std::unique_ptr<ResidentParameters> open(const std::vector<Model*>& models, Leaves node,
                                                  std::span<const float> weights,
                                                  std::span<const AlignedBuffer> slots);
  ~ResidentParameters();
  ResidentParameters(const ResidentParameters&) = delete;
  ResidentParameters& operator=(const ResidentParameters&) = delete;

  // On the thread of a model: its newest sum is that of this piece of ReplicaTree.
  void keep_sum(std::size_t model, std::size_t place);
  // Once all have theirs: the sum of all is each model's newest gradient.
  void add_up();

  // By the newest gradient.
  void update(const ArenaUpdate& rules, const OptimizerConfig& optimizer, const UpdateStep& step);

  // Of the newest gradient, as in ResidentArena.
  void add_squares(const ArenaUpdate& rules, ExactSum& squares) {
    arenas_.front()->add_squares(rules, squares);
  }

  // To the host, as in ResidentArena; throw DeviceFailed where any of the devices has failed.
  void fetch_weights(std::span<float> to);
  void fetch_slots(std::span<AlignedBuffer> to);
  void fetch_gradient(std::int64_t begin, std::span<float> to);

 private:
  ResidentParameters(std::size_t models, Leaves node, std::size_t elements);
  bool move_in(const std::vector<Model*>& models, std::span<const float> weights,
               std::span<const AlignedBuffer> slots);
  [[nodiscard]] bool has_room_for_sums() const;
  void reserve_sums();
  [[nodiscard]] Device& device(std::size_t model) { return arenas_[model]->memory().device(); }
  float* sum_in(std::size_t place) { return sums_[place].floats(elements_); }
  float* arrived(std::size_t model) { return arrived_[model].floats(elements_); }
  void spread();
  bool broadcast();
  void require_all_sound();

  const std::size_t elements_;
  const ReplicaTree tree_;
  std::vector<std::unique_ptr<ResidentArena>> arenas_;  // by model
  // Of several models alone.
  std::vector<std::size_t> owners_;   // by place: the model whose device has it
  std::deque<DeviceBuffer> sums_;     // by place
  std::deque<DeviceBuffer> arrived_;  // by model: what comes from another
  bool is_told_ = false;              // how the sum is spread
};

}  // namespace trainyard::runtime
