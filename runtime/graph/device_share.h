// A share of the parameters that lives on a device (runtime/math/optim/resident_share.h). The
// device is the share's alone: its order of kernels is not that of a model, whose backward pass
// would be waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "runtime/graph/device.h"
#include "runtime/graph/device_buffer.h"
#include "runtime/graph/device_memory.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/optim/resident_share.h"

namespace trainyard::runtime {

class DeviceShare final : public ResidentShare {
 public:
  struct Rules {
    ArenaUpdate update;
    OptimizerConfig optimizer;
    std::int64_t part_max = 0;                     // elements
    std::size_t spare_bytes = device_spare_bytes;  // that stay free on the GPU
  };
  // Of slots so many elements count as there are weights. Null where the device has too little
  // memory. Throws DeviceFailed where it fails.
  static std::unique_ptr<DeviceShare> open(std::unique_ptr<Device> device, Rules rules,
                                           std::span<const float> weights,
                                           std::span<const AlignedBuffer> slots);
  ~DeviceShare() override;

  [[nodiscard]] std::size_t parts_max() const override { return pieces_.size(); }
  [[nodiscard]] std::span<float> room(std::int64_t count) override;
  void update(const Part& part, const UpdateStep& step) override;
  void take(std::span<float> weights) override;
  void fetch_slots(const Part& part, std::span<const std::span<float>> slots) override;

 private:
  // What a part has on its way: memory of the host, in which its sum goes up and its weights come
  // down, and room on the device for the sum.
  struct Piece {
    explicit Piece(Device& device) : on_host(device, DeviceBuffer::On::host), gradient(device) {}
    DeviceBuffer on_host;
    DeviceBuffer gradient;
    std::uint64_t done = 0;  // the mark behind its weights' way down
  };

  DeviceShare(std::unique_ptr<Device> device, Rules rules, std::size_t elements);
  [[nodiscard]] bool has_room(std::size_t slots) const;
  void move_in(std::span<const float> weights, std::span<const AlignedBuffer> slots);
  void bring(std::span<const float> from, float* to);
  void wait(std::uint64_t mark);
  [[nodiscard]] float* on_host(Piece& piece) { return piece.on_host.floats(part_elements_); }

  const std::unique_ptr<Device> device_;  // goes last
  const Rules rules_;
  const std::size_t elements_;
  const std::size_t part_elements_;
  DeviceBuffer weights_;
  std::deque<DeviceBuffer> slots_;
  std::deque<Piece> pieces_;   // used one after another, again and again
  std::size_t oldest_ = 0;     // piece that is under way
  std::size_t under_way_ = 0;  // pieces
};

}  // namespace trainyard::runtime
