// What a model's graphs have on a device beside their values: copies of the parameters, of the
// gradients and of the batch. One for all graphs that compute one model in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/device.h"
#include "runtime/graph/device_buffer.h"
#include "runtime/graph/device_sums.h"
#include "runtime/graph/staging.h"

namespace trainyard::runtime {

// What is good to have on a device leaves so much there for what every step needs: its batch, and
// what the driver takes for recordings.
inline constexpr std::size_t device_spare_bytes = std::size_t{64} << 20;

// And for what its libraries load when a step first asks for it.
inline std::size_t spare_bytes(const Device& device) {
  constexpr std::size_t of_libraries = std::size_t{448} << 20;
  return device_spare_bytes + (*device.libraries() == 0 ? 0 : of_libraries);
}

class DeviceMemory {
 public:
  // `threads`: who copies, while the device computes.
  DeviceMemory(Device& device, std::int64_t parameters, const Threads& threads);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] Device& device() const { return device_; }
  Staging& staging() { return staging_; }
  std::span<float> parameters() { return {parameters_.floats(count_), count_}; }
  std::span<float> gradients() { return {gradients_.floats(count_), count_}; }

  // Parameters of the host whose newest values are on the device: nobody brings them, and their
  // gradients stay there. Until forget(); one arena at a time.
  void keep(std::span<const float> on_host, std::span<float> here) {
    kept_on_host_ = on_host.data();
    kept_ = here;
  }
  void forget() { kept_on_host_ = nullptr; }
  [[nodiscard]] bool keeps(std::span<const float> on_host) const {
    return kept_on_host_ != nullptr && on_host.data() == kept_on_host_;
  }
  // Whether there is room for so many arenas more, and some to spare.
  [[nodiscard]] bool has_room_for(std::size_t arenas) const {
    return device_.free_bytes() >= arenas * count_ * sizeof(float) + spare_bytes(device_);
  }
  // Where kernels read these.
  std::span<float> parameters_for(std::span<const float> on_host) {
    return keeps(on_host) ? kept_ : parameters();
  }

  // Of the whole arena, for parameters that come in bfloat16 and gradients that leave so. Throws
  // DeviceFailed where there is too little memory; once there, it is.
  std::uint16_t* halves() {
    return reinterpret_cast<std::uint16_t*>(halves_.of(count_ * sizeof(std::uint16_t)));
  }

  // Sums of gradients that are added here.
  DeviceSums& sums() { return sums_; }
  // Where the gradient of the newest step lies: the whole arena, of a node the sum of its leaves.
  [[nodiscard]] const float* total() const { return total_; }
  void set_total(const float* gradient) { total_ = gradient; }

  // The batch on the device, until the next one. A batch of the same sizes lies where the one
  // before lay.
  Feed stage(const Feed& feed);
  // The gradients of its rows, to where the host wants them.
  void fetch_row_gradients(const Feed& host);

 private:
  Device& device_;
  Staging staging_;
  std::size_t count_;
  DeviceBuffer parameters_;
  const float* kept_on_host_ = nullptr;  // none: nothing is kept
  std::span<float> kept_;
  DeviceBuffer gradients_;
  DeviceBuffer halves_;
  DeviceSums sums_;
  const float* total_ = nullptr;  // no step has been computed
  // What a batch has lies in one piece, so that it goes up in one copy.
  DeviceBuffer here_;
  std::uint64_t read_ = 0;  // the mark behind the newest one's copy
  DeviceBuffer there_;
  std::vector<std::size_t> rooms_;  // in bytes: of what a batch has, in their order
  DeviceBuffer row_gradients_;
  std::vector<RowFeed> rows_;  // of the newest batch
};

}  // namespace trainyard::runtime
