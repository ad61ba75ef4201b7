#include "tests/conformance/mirror/word_tiles.h"

#include "runtime/graph/grid/dense_impl.h"
#include "runtime/graph/grid/image_conv.h"
#include "tests/conformance/mirror/host_grid.h"

namespace trainyard::runtime {
namespace {

template <class Words, class Product>
void multiply_in(const TileSetting& setting, const Product& product) {
  HostGrid grid;
  std::vector<float> apart(
      static_cast<std::size_t>(setting.parts * product.rows * product.columns));
  const bool is_apart = setting.parts > 1;
  const DepthParts parts{.apart = is_apart ? apart.data() : nullptr, .count = setting.parts};
  multiply_word_tiles<Words>(grid, product, setting.length, parts);
  if (is_apart) add_cuts(grid, product, SomeCuts{.apart = apart.data(), .count = setting.parts});
}

template <class Product>
void multiply_in_tiles(const TileSetting& setting, const Product& product) {
  if (setting.precision == Precision::tf32) {
    multiply_in<Tf32Words>(setting, product);
  } else {
    multiply_in<Bfloat16Words>(setting, product);
  }
}

}  // namespace

TileSetting chosen_tiles(std::int64_t rows, std::int64_t columns, std::int64_t parts_max) {
  const WordTiles tiles = choose_tiles(rows, columns, 1, parts_max);
  return {.length = tiles.length, .parts = tiles.parts};
}

std::vector<float> product_in_tiles(const TileSetting& setting, const MatrixSides& sides) {
  std::vector<float> out(static_cast<std::size_t>(sides.rows * sides.columns));
  multiply_in_tiles(setting, GridProduct<Strided, Strided>{
                                 .rows = sides.rows,
                                 .columns = sides.columns,
                                 .cuts = cuts_of(sides.depth),
                                 .left = rows_of_matrix(sides.left.data(), sides.depth),
                                 .right = columns_of_matrix(sides.right.data(), sides.columns),
                                 .out = out.data(),
                                 .out_stride = sides.columns});
  return out;
}

void convolve_in_tiles(const TileSetting& setting, const Conv2dOp& op, const ForwardCall& call) {
  multiply_in_tiles(
      setting, windows_product(conv_of(op.window, call.inputs[0].shape, call.output.shape), call));
}

}  // namespace trainyard::runtime
