// The product of two matrices of floats, for the shapes of training: one side is a batch of some
// hundred rows, the other a layer's weights.
//
// The order of additions depends on the depth alone, never on rows, columns, cache sizes or where
// the memory lies: each element is a chain of fused multiply-adds over ascending depth, cut into
// blocks of at most `gemm_depth_block` whose results are added one after another.
#pragma once

#include <cstdint>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

inline constexpr std::int64_t gemm_depth_block = 320;
// Blocks of one size, as far as that goes, at most `largest` and a multiple of `step`: a short last
// one would cost nearly as much as a whole one.
constexpr std::int64_t even_block(std::int64_t count, std::int64_t largest, std::int64_t step) {
  const std::int64_t blocks = count <= largest ? 1 : (count + largest - 1) / largest;
  const std::int64_t each = (count + blocks - 1) / blocks;
  return each <= step ? step : (each + step - 1) / step * step;
}
constexpr std::int64_t depth_block_of(std::int64_t depth) {
  return even_block(depth, gemm_depth_block, 8);
}

// A matrix in any layout: element (i, j) is data[i * row_stride + j * column_stride], and one of
// the strides is 1.
struct Operand {
  const float* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  Operand left;                 // [rows, depth]
  Operand right;                // [depth, columns]
  const float* bias = nullptr;  // [columns], added to each row; only with Write::overwrite
  float* out = nullptr;         // [rows, columns], row-major; overlaps no operand
  Write write = Write::overwrite;
  // What pack_right has left of `right`, with the same kernel: for products that share it.
  const float* packed_right = nullptr;
  std::int64_t out_stride = 0;  // from a row to the next; 0: without gaps
  Threads threads = {};         // divide rows and columns, never the depth
};

// Which instructions do the work: the bits are the same.
enum class GemmKernel { avx2, avx512 };
bool is_available(GemmKernel kernel);  // on this processor
GemmKernel best_kernel();

// What a product of so many multiplications takes one core, roughly: no bit depends on it.
constexpr double gemm_nanoseconds(double multiplications) { return multiplications / 40; }

void gemm(const Product& product, GemmKernel kernel = best_kernel());

// Room for the right side of this size as gemm reads it, in floats at a cache line's border.
std::int64_t packed_right_elements(std::int64_t depth, std::int64_t columns);
// Packs product.right once for many products; of the others of its fields depth and columns count.
void pack_right(const Product& product, float* packed, GemmKernel kernel = best_kernel());

}  // namespace trainyard::runtime
