// The first thing that CUDA refused, in its words. A failed device stays failed.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

namespace trainyard::runtime {

class CudaStatus {
 public:
  // Whether `error` is none; else it is kept, unless it is not the first.
  bool is_good(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return true;
    fail(what, cudaGetErrorString(error));
    return false;
  }
  void fail(const char* what, const char* why) {
    if (has_failed_) return;
    std::snprintf(text_, sizeof text_, "%s: %s", what, why);
    has_failed_ = true;
  }
  // Likewise, of what is not CUDA's.
  void fail(const char* why) {
    if (!has_failed_) std::snprintf(text_, sizeof text_, "%s", why);
    has_failed_ = true;
  }
  [[nodiscard]] const char* failure() const { return has_failed_ ? text_ : nullptr; }

 private:
  bool has_failed_ = false;
  char text_[256] = {};
};

}  // namespace trainyard::runtime
