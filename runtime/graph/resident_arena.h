// Parameters that live on a device, with their optimizer's slots: they are updated there, by the
// gradients that lie there, and come to the host when somebody asks for them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/device_buffer.h"
#include "runtime/graph/device_memory.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/arena_update.h"

namespace trainyard::runtime {

class ResidentArena {
 public:
  // The executors on this memory compute with them where they are given `weights`, which stay where
  // they are and are not read any more. Throws DeviceFailed where there is too little memory.
  ResidentArena(std::shared_ptr<DeviceMemory> memory, std::span<const float> weights,
                std::span<const AlignedBuffer> slots);
  ~ResidentArena();
  ResidentArena(const ResidentArena&) = delete;
  ResidentArena& operator=(const ResidentArena&) = delete;

  [[nodiscard]] DeviceMemory& memory() { return *memory_; }

  // By the gradient of the newest step.
  void update(const ArenaUpdate& rules, const OptimizerConfig& optimizer, const UpdateStep& step);

  // Of what the optimizer updates in the gradient of the newest step, as ArenaUpdate::add_squares.
  void add_squares(const ArenaUpdate& rules, ExactSum& squares);

  // To the host; they are there on return. The gradient from `begin` of the arena on.
  void fetch_weights(std::span<float> to);
  void fetch_slots(std::span<AlignedBuffer> to);
  void fetch_gradient(std::int64_t begin, std::span<float> to);

 private:
  void fetch(const float* from, std::span<float> to);

  std::shared_ptr<DeviceMemory> memory_;
  std::size_t elements_;
  DeviceBuffer weights_;
  std::deque<DeviceBuffer> slots_;
  DeviceBuffer registers_;  // of squares
  std::vector<ExactSum::Words> fetched_registers_;
};

}  // namespace trainyard::runtime
