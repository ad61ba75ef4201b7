// Tensor cores' tiles of one size, whatever the size of a product, run by a loop.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/kernels.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct TileSetting {
  Precision precision = Precision::bfloat16;
  int length = 128;        // of a tile's side: 128, 64, 32
  std::int64_t parts = 1;  // of the depth
};

// Of 132 processors: which tiles a product is computed in, of at most so many parts.
TileSetting chosen_tiles(std::int64_t rows, std::int64_t columns, std::int64_t parts_max);

// Left [rows, depth] times right [depth, columns].
struct MatrixSides {
  std::int64_t rows, depth, columns;
  const std::vector<float>& left;
  const std::vector<float>& right;
};
std::vector<float> product_in_tiles(const TileSetting& setting, const MatrixSides& sides);

// A convolution's output.
void convolve_in_tiles(const TileSetting& setting, const Conv2dOp& op, const ForwardCall& call);

}  // namespace trainyard::runtime
