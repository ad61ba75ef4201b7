// What this host has of NVIDIA's libraries that multiply, for a device in tf32 or bfloat16.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "runtime/graph/cuda/cublas_lt.h"
#include "runtime/graph/cuda/cudnn.h"
#include "runtime/graph/grid/libraries.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct OpenedLibraries {
  OpenedProducts products;
  OpenedConvolutions convolutions;

  OpenedLibraries(cudaStream_t stream, CudaStatus& status, Precision precision)
      : products(open_cublas_lt(stream, status, precision)),
        convolutions(open_cudnn(stream, status, precision)) {}

  [[nodiscard]] Libraries libraries() const {
    return {.products = products.library.get(), .convolutions = convolutions.library.get()};
  }
  // "cuBLASLt 13.1.0 and cuDNN 9.19.0 of CUDA 13.0"; "": there is none.
  [[nodiscard]] std::string names() const {
    const bool are_both = !products.name.empty() && !convolutions.name.empty();
    return products.name + (are_both ? " and " : "") + convolutions.name;
  }
  // "cuBLASLt 13.1.0, without cuDNN (libcudnn_cnn.so.9: cannot open shared object file)".
  [[nodiscard]] std::string words() const {
    std::string words = names();
    const auto add = [&words](const char* name, const std::string& missing) {
      if (missing.empty()) return;
      words += std::string(words.empty() ? "" : ", ") + "without " + name + " (" + missing + ")";
    };
    add("cuBLASLt", products.missing);
    add("cuDNN", convolutions.missing);
    return words;
  }
  // Nothing of them may run any more.
  void close() {
    products.library.reset();
    convolutions.library.reset();
  }
};

}  // namespace trainyard::runtime
