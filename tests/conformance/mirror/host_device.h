// A device without a GPU: memory of its own, and a thread that does in its order what is asked for,
// some of it late. What forgets a copy or does not wait for one reads other bytes here, as it would
// on a GPU; so does a recording of work that is another one the next time; what reads the device's
// memory itself ends the program, as no kernel runs then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "runtime/graph/device.h"
#include "runtime/graph/grid/conv_library.h"
#include "runtime/graph/grid/product_library.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct HostDeviceSetting {
  std::size_t bytes = std::size_t{1} << 30;
  // Work is begun some time after it is asked for, and a kernel's indices run from the last to the
  // first; else before the call returns, from the first on.
  bool is_late = false;
  std::uint64_t seed = 1;  // of how long
  Precision precision = Precision::float32;
  bool has_libraries = false;  // in tf32 and bfloat16
  bool broadcasts = false;     // as a GPU where NCCL is
};

class HostDevice : public Device {
 public:
  explicit HostDevice(const HostDeviceSetting& setting = {});
  ~HostDevice() override;

  [[nodiscard]] const char* name() const override { return "host"; }
  [[nodiscard]] const char* toolkit() const override { return "a C++ compiler"; }
  [[nodiscard]] const char* libraries() const override {
    return products_ == nullptr ? "" : "libraries in loops";
  }
  [[nodiscard]] const char* failure() const override { return nullptr; }
  [[nodiscard]] const Kernels& kernels() const override { return *kernels_; }
  void* allocate(std::size_t bytes) override;  // filled with NaN
  void release(void* memory) override;
  [[nodiscard]] std::size_t free_bytes() const override;
  void* allocate_on_host(std::size_t bytes) override;
  void release_on_host(void* memory) override;
  void upload(const void* host, void* device, std::size_t bytes) override;
  void download(const void* device, void* host, std::size_t bytes) override;
  void fill(float* device, float value, std::size_t count) override;
  void copy(float* to, const float* from, std::size_t count) override;
  void add(float* sum, const float* more, std::size_t count) override;
  void encode_bfloat16(std::uint16_t* to, const float* from, std::size_t count) override;
  void decode_bfloat16(float* to, const std::uint16_t* from, std::size_t count) override;
  void copy_from(Device& other, float* to, const float* from, std::size_t count) override;
  Broadcast broadcast(std::span<const BroadcastTo> others, const float* from,
                      std::size_t count) override;
  void add_squares(std::uint64_t* registers, const float* from, std::size_t count) override;
  void update(const ElementUpdate& update) override;
  std::uint64_t mark() override;
  [[nodiscard]] bool reached(std::uint64_t mark) override;
  void wait(std::uint64_t mark) override;
  void begin_recording() override;
  std::unique_ptr<Recording> end_recording() override;

 private:
  class Stream;
  class Memory;
  class Kept;
  using Work = std::function<void()>;
  void run(Work work);
  void add_to_stream(Work work);

  const bool broadcasts_;
  std::uint64_t asked_ = 0;  // works
  std::mt19937_64 random_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Stream> stream_;  // none: nothing is late
  std::unique_ptr<ProductLibrary> products_;
  std::unique_ptr<ConvLibrary> convolutions_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Kept> recording_;  // none: work is done
};

}  // namespace trainyard::runtime
