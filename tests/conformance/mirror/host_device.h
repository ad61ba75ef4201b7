// A device without a GPU: memory of its own, and a thread that does in its order what is asked for,
// some of it late. What forgets a copy or does not wait for one reads other bytes here, as it would
// on a GPU; so does a recording of work that is another one the next time; what reads the device's
// memory itself ends the program, as no kernel runs then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/graph/device.h"

namespace trainyard::runtime {

struct HostDeviceSetting {
  std::size_t bytes = std::size_t{1} << 30;
  bool is_late =
      false;  // work is begun some time after it is asked for; else before the call returns
  std::uint64_t seed = 1;  // of how long
};

class HostDevice : public Device {
 public:
  explicit HostDevice(const HostDeviceSetting& setting = {});
  ~HostDevice() override;

  [[nodiscard]] const char* name() const override { return "host"; }
  [[nodiscard]] const char* failure() const override { return nullptr; }
  [[nodiscard]] const Kernels& kernels() const override { return *kernels_; }
  void* allocate(std::size_t bytes) override;  // filled with NaN
  void release(void* memory) override;
  [[nodiscard]] std::size_t free_bytes() const override;
  void upload(const void* host, void* device, std::size_t bytes) override;
  void download(const void* device, void* host, std::size_t bytes) override;
  void fill(float* device, float value, std::size_t count) override;
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
  // On the host, but not yet where it was asked for.
  struct Arriving {
    std::shared_ptr<std::vector<std::byte>> bytes;
    void* to = nullptr;
    std::uint64_t mark = 0;  // that says that it is there
  };
  void run(Work work);
  void hand_over_until(std::uint64_t mark);

  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Stream> stream_;  // none: nothing is late
  std::unique_ptr<Kernels> kernels_;
  std::deque<Arriving> arriving_;
  std::unique_ptr<Kept> recording_;  // none: work is done
};

}  // namespace trainyard::runtime
