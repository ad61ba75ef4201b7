#include "runtime/graph/device_buffer.h"

#include <string>

namespace trainyard::runtime {

std::byte* DeviceBuffer::of(std::size_t bytes) {
  if (data_ != nullptr && bytes <= bytes_) return data_;
  release();
  constexpr std::size_t border = 256;
  const std::size_t wanted = (bytes + border) / border * border;
  data_ = static_cast<std::byte*>(on_ == On::device ? device_->allocate(wanted)
                                                    : device_->allocate_on_host(wanted));
  if (data_ == nullptr) refuse(wanted);
  bytes_ = wanted;
  return data_;
}

void DeviceBuffer::refuse(std::size_t bytes) const {
  require_sound(*device_);
  const std::string wanted = std::to_string((bytes >> 20) + 1);
  if (on_ == On::host) {
    throw DeviceFailed("the host has no " + wanted + " MiB of memory for copies to " +
                       device_->name());
  }
  throw DeviceFailed(std::string(device_->name()) + " has " +
                     std::to_string(device_->free_bytes() >> 20) + " MiB free, " + wanted +
                     " more are needed: smaller micro-batches or \"recompute\" need less");
}

void DeviceBuffer::release() {
  if (data_ == nullptr) return;
  if (on_ == On::device) {
    device_->release(data_);
  } else {
    device_->release_on_host(data_);
  }
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace trainyard::runtime
