#include "tests/support/gpu_double/failing_device.h"

#include <fstream>
#include <utility>

namespace trainyard::gpu_double {

FailureOrder::FailureOrder(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream words(file_);
  words >> left_ >> std::ws;
  std::getline(words, sentence_);
}

bool FailureOrder::allows_next() {
  if (has_failed_) return false;
  if (sentence_.empty() || left_ > 0) {
    if (left_ > 0) --left_;
    return true;
  }
  std::error_code error;
  has_failed_ = std::filesystem::remove(file_, error);
  if (!has_failed_) sentence_.clear();  // it has happened to another
  return !has_failed_;
}

class FailingDevice::CountedKernels : public runtime::Kernels {
 public:
  CountedKernels(const runtime::Kernels& kernels, FailureOrder& order)
      : kernels_(kernels), order_(order) {}

  [[nodiscard]] runtime::Needs needs(const runtime::Op& op, std::span<const runtime::Shape> inputs,
                                     const runtime::Shape& output,
                                     std::int64_t threads) const override {
    return kernels_.needs(op, inputs, output, threads);
  }
  void forward(const runtime::Op& op, const runtime::ForwardCall& call) const override {
    if (order_.allows_next()) kernels_.forward(op, call);
  }
  void backward(const runtime::Op& op, const runtime::BackwardCall& call) const override {
    if (order_.allows_next()) kernels_.backward(op, call);
  }

 private:
  const runtime::Kernels& kernels_;
  FailureOrder& order_;
};

class FailingDevice::CountedRecording : public runtime::Recording {
 public:
  CountedRecording(std::unique_ptr<runtime::Recording> recording, FailureOrder& order)
      : recording_(std::move(recording)), order_(order) {}

  void replay() override {
    if (order_.allows_next()) recording_->replay();
  }

 private:
  std::unique_ptr<runtime::Recording> recording_;
  FailureOrder& order_;
};

FailingDevice::FailingDevice(About about, const runtime::HostDeviceSetting& setting,
                             const std::filesystem::path& folder)
    : HostDevice(setting),
      about_(std::move(about)),
      order_(folder / "failure"),
      updates_(folder / "update_failure"),
      kernels_(std::make_unique<CountedKernels>(HostDevice::kernels(), order_)) {}

FailingDevice::~FailingDevice() = default;

const runtime::Kernels& FailingDevice::kernels() const { return *kernels_; }

void FailingDevice::upload(const void* host, void* device, std::size_t bytes) {
  if (order_.allows_next()) HostDevice::upload(host, device, bytes);
}

void FailingDevice::download(const void* device, void* host, std::size_t bytes) {
  if (order_.allows_next()) HostDevice::download(device, host, bytes);
}

void FailingDevice::update(const runtime::ElementUpdate& update) {
  if (updates_.allows_next()) HostDevice::update(update);
}

std::unique_ptr<runtime::Recording> FailingDevice::end_recording() {
  return std::make_unique<CountedRecording>(HostDevice::end_recording(), order_);
}

}  // namespace trainyard::gpu_double
