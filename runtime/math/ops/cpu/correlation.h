// The product behind a convolution, and behind the gradient of its input: pixels of a target are
// sums over taps of a source, without a matrix of all that they read.
#pragma once

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/tap_axis.h"
#include "runtime/math/ops/finish.h"
#include "runtime/math/ops/scratch.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct Correlation {
  TapAxis height;
  TapAxis width;
  std::int64_t channels = 1;       // of the source
  std::int64_t columns = 1;        // channels of the target
  std::int64_t kernel_width = 1;   // taps of a row of the whole kernel, for the blocks of the depth
  std::int64_t kernel_taps = 1;    // of the whole kernel
  std::int64_t target_width = 0;   // pixels of the target
  std::int64_t target_pixels = 0;  // of an example

  [[nodiscard]] std::int64_t depth() const { return height.taps * width.taps * channels; }
};

// Where the kernel's matrix [depth, columns] comes from: tap (row, column) of the axes above begins
// at data + row * row_stride + column * column_stride; there it lies [channels, columns] with these
// strides.
struct TapMatrix {
  const float* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t along = 0;   // from channel to channel of the source
  std::int64_t across = 0;  // from column to column
};

struct CorrelationCall {
  std::int64_t examples = 0;
  const float* source = nullptr;
  TapMatrix matrix;
  const float* bias = nullptr;  // only with Write::overwrite
  Finish finish = Finish::as_it_is;
  float* target = nullptr;
  Write write = Write::overwrite;
  Threads threads = {};  // share strips of the target
};

std::size_t correlation_scratch_bytes(const Correlation& correlation, std::int64_t threads);
void correlate(const Correlation& correlation, const CorrelationCall& call, Scratch scratch,
               GemmKernel kernel);

}  // namespace trainyard::runtime
