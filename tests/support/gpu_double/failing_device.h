// A GPU of the double: the mirror device (tests/conformance/mirror) with a name, as much memory as
// is said, and work that may be refused from some moment on, as CUDA refuses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/conformance/mirror/host_device.h"

namespace trainyard::gpu_double {

// Of a file with a number and a sentence: so many pieces of work are done, and the next is refused
// with the sentence. The first device that gets there takes the file away; to all others nothing
// happens.
class FailureOrder {
 public:
  explicit FailureOrder(std::filesystem::path file);

  // Whether the next piece of work is to be done.
  bool allows_next();
  [[nodiscard]] const char* failure() const { return has_failed_ ? sentence_.c_str() : nullptr; }

 private:
  std::filesystem::path file_;
  std::uint64_t left_ = 0;
  std::string sentence_;  // "": there is no such file
  bool has_failed_ = false;
};

class FailingDevice : public runtime::HostDevice {
 public:
  struct About {
    std::string name;
    std::string toolkit;
  };
  // In `folder`: a file `failure` for kernels of ops, copies to and from the host and replays of
  // recordings; `update_failure` for updates alone.
  FailingDevice(About about, const runtime::HostDeviceSetting& setting,
                const std::filesystem::path& folder);
  ~FailingDevice() override;

  [[nodiscard]] const char* name() const override { return about_.name.c_str(); }
  [[nodiscard]] const char* toolkit() const override { return about_.toolkit.c_str(); }
  [[nodiscard]] const char* failure() const override {
    return order_.failure() != nullptr ? order_.failure() : updates_.failure();
  }
  [[nodiscard]] const runtime::Kernels& kernels() const override;
  void upload(const void* host, void* device, std::size_t bytes) override;
  void download(const void* device, void* host, std::size_t bytes) override;
  void update(const runtime::ElementUpdate& update) override;
  std::unique_ptr<runtime::Recording> end_recording() override;

 private:
  class CountedKernels;
  class CountedRecording;

  About about_;
  FailureOrder order_;
  FailureOrder updates_;
  std::unique_ptr<CountedKernels> kernels_;
};

}  // namespace trainyard::gpu_double
