// Where a graph is computed: memory of its own, and one order of kernels, fills and recordings,
// which happen perhaps after the call has returned. A copy to the host comes behind what was asked
// for before it; what is asked for later may overtake it. A call never throws: what goes wrong is
// kept as failure(), and nothing that is asked for later is of value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>

#include "runtime/graph/kernels.h"
#include "runtime/math/optim/optimizer.h"

namespace trainyard::runtime {

// Numbers of the device that one rule changes; slots as the rule has them.
struct ElementUpdate {
  ElementRule rule = SgdRule{};
  UpdatedArrays arrays{};
  std::int64_t count = 0;
};

// A device adds squares into so many exact registers (runtime/core/exact_register.h); only the sum
// of all of them matters.
inline constexpr std::int64_t square_registers = 4096;

class Device;

// Where a broadcast goes on another device.
struct BroadcastTo {
  Device* device = nullptr;
  float* to = nullptr;
};
struct Broadcast {
  bool is_asked = false;  // else nothing was
  const char* how = "";   // by what, or why not, in words for a log
};

// Work that is asked for many times at once, with the memory as it is then. It goes before its
// device, and once its last replay is over.
class Recording {
 public:
  Recording() = default;
  virtual ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  virtual void replay() = 0;
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const char* name() const = 0;  // "NVIDIA H100 80GB HBM3"
  // What made machine code of its kernels, "nvcc 13.0.88", perhaps "... and a driver of CUDA 13.1",
  // and its libraries: another one may add in another order.
  [[nodiscard]] virtual const char* toolkit() const = 0;
  // Of the host, that multiply: "cuBLASLt 13.1.0, without cuDNN (libcudnn_cnn.so.9: ...)"; "": none
  // is asked for.
  [[nodiscard]] virtual const char* libraries() const { return ""; }
  [[nodiscard]] virtual const char* failure() const = 0;  // the first; null: none
  [[nodiscard]] virtual const Kernels& kernels() const = 0;

  // Memory of the device, from a border of 256 bytes on; null where there is too little.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  [[nodiscard]] virtual std::size_t free_bytes() const = 0;

  // Memory of the host that copies need not wait for; null where there is too little.
  virtual void* allocate_on_host(std::size_t bytes) = 0;
  virtual void release_on_host(void* memory) = 0;

  // The host's memory stays, and what is read of it stays as it is, until the copy is over. An
  // upload may overtake kernels and fills of which reached() or wait() has not said that they are
  // over; what is asked for behind it comes behind it.
  virtual void upload(const void* host, void* device, std::size_t bytes) = 0;
  virtual void download(const void* device, void* host, std::size_t bytes) = 0;
  virtual void fill(float* device, float value, std::size_t count) = 0;

  // Of numbers on the device that overlap nothing.
  virtual void copy(float* to, const float* from, std::size_t count) = 0;
  virtual void add(float* sum, const float* more, std::size_t count) = 0;
  // Rounded, to the bits of runtime/math/wire/bfloat16; and back.
  virtual void encode_bfloat16(std::uint16_t* to, const float* from, std::size_t count) = 0;
  virtual void decode_bfloat16(float* to, const std::uint16_t* from, std::size_t count) = 0;
  // Of another device of this process, opened in the same way: once what that one was asked for is
  // done, and what it is asked for later comes behind it.
  virtual void copy_from(Device& other, float* to, const float* from, std::size_t count) = 0;
  // From this one to two or more others, each on a GPU of its own, ordered as a copy to each of
  // them is: where the host has something that is made for it. Else nothing is asked for.
  virtual Broadcast broadcast(std::span<const BroadcastTo> /*others*/, const float* /*from*/,
                              std::size_t /*count*/) {
    return {.is_asked = false, .how = "copies"};
  }
  // To `square_registers` exact sums that lie on the device, each of ExactRegister::words words:
  // the squares of these numbers, which begin at a cache line's border.
  virtual void add_squares(std::uint64_t* registers, const float* from, std::size_t count) = 0;
  // New weights and slots in the place of the old ones.
  virtual void update(const ElementUpdate& update) = 0;

  // All that has been asked for until now, as a number that grows; whether it is over; until it is.
  virtual std::uint64_t mark() = 0;
  [[nodiscard]] virtual bool reached(std::uint64_t mark) = 0;
  virtual void wait(std::uint64_t mark) = 0;

  // Kernels and fills that are asked for from here to the end of the recording are kept, and not
  // done.
  virtual void begin_recording() = 0;
  virtual std::unique_ptr<Recording> end_recording() = 0;
};

// The device did not do what was asked of it.
class DeviceFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws DeviceFailed where something went wrong.
inline void require_sound(const Device& device) {
  if (device.failure() != nullptr) throw DeviceFailed(device.failure());
}

}  // namespace trainyard::runtime
