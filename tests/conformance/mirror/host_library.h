// Libraries on a mirror device: what BLAS and cuDNN define, in loops, whatever the sizes are. They
// take no product whose output has an odd number of rows, and no convolution that is padded by more
// on one side, for which the grid's own kernels remain.
#pragma once

#include <functional>
#include <utility>

#include "runtime/graph/grid/conv_library.h"
#include "runtime/graph/grid/product_library.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

class HostProducts : public ProductLibrary {
 public:
  using Queue = std::function<void(std::function<void()>)>;

  HostProducts(Queue queue, Precision precision)
      : queue_(std::move(queue)), precision_(precision) {}

  [[nodiscard]] bool is_for(const LibrarySizes&) const override { return true; }
  bool takes(const LibraryProduct& product) override { return product.rows % 2 == 0; }
  void multiply(const LibraryProduct& product) override;

 private:
  Queue queue_;
  Precision precision_;
};

class HostConvolutions : public ConvLibrary {
 public:
  using Queue = HostProducts::Queue;

  HostConvolutions(Queue queue, Precision precision)
      : queue_(std::move(queue)), precision_(precision) {}

  [[nodiscard]] bool is_for(const Conv2d&, std::int64_t) const override { return true; }
  bool takes(const LibraryConv& of) override;
  void convolve(const LibraryConv& of, const LibraryImages& images, Write write) override;

 private:
  Queue queue_;
  Precision precision_;
};

}  // namespace trainyard::runtime
