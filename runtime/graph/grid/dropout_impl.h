// The kernels of dropout.h.
#pragma once

#include "runtime/graph/grid/dropout.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/math/elements/dropout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

template <class Grid>
Needs DropoutOps<Grid>::needs(const DropoutOp&, std::span<const Shape>, const Shape&) {
  return {};
}

// What does not depend on where the batch lies, which a device alone knows.
struct DropoutPieces {
  std::uint32_t layer;
  std::uint64_t threshold;
  float factor;
  std::uint64_t stride;      // elements of an example in the endless line
  std::int64_t examples;     // of a piece: those that lie side by side in the line
  std::int64_t elements;     // of a piece
  std::int64_t blocks_each;  // of four elements, that a piece touches at most
  std::int64_t count;
};

inline DropoutPieces dropout_pieces(const DropoutOp& op, const Shape& x) {
  const std::int64_t all = x.elements();
  const auto each = static_cast<std::uint64_t>(all / x[0]);
  const std::uint64_t stride = op.stride == 0 ? each : op.stride;
  ENSURE(op.rate >= 0 && op.rate < 1 && stride >= each);
  const std::int64_t count = stride == each ? 1 : x[0];
  return {.layer = op.layer,
          .threshold = dropout_threshold(op.rate),
          .factor = dropout_factor(op.rate),
          .stride = stride,
          .examples = x[0] / count,
          .elements = all / count,
          .blocks_each = all / count / 4 + 2,
          .count = count};
}

// to[i] = factor * from[i], or that much more; `to` may be `from`. A thread has the four elements
// whose words are drawn together.
template <class Grid>
void drop_on(Grid& grid, const DropoutOp& op, const Feed& feed, ConstTensor x, Tensor to,
             Write write) {
  ENSURE(x.shape.rank() >= 1 && x.shape[0] == feed.examples && x.shape == to.shape);
  if (to.elements() == 0) return;
  const DropoutPieces pieces = dropout_pieces(op, x.shape);
  const Drawing* const drawing = feed.drawing;
  const float* const from = x.data;
  float* const into = to.data;
  grid.each(pieces.count * pieces.blocks_each, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t piece = i / pieces.blocks_each;
    const std::int64_t block = i % pieces.blocks_each;
    const std::uint64_t position =
        drawing->first_position + static_cast<std::uint64_t>(piece * pieces.examples);
    const std::uint64_t number = position * pieces.stride;
    // The first may lie within a block.
    const std::int64_t first = 4 * block - static_cast<std::int64_t>(number % 4);
    if (first >= pieces.elements) return;
    const PhiloxWords words =
        dropout_words(drawing->seed, pieces.layer, number / 4 + static_cast<std::uint64_t>(block));
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      if (first + place < 0 || first + place >= pieces.elements) continue;
      const std::int64_t at = piece * pieces.elements + first + place;
      const float kept = factor_of_word(word_of(words, place), pieces.threshold, pieces.factor);
      put(into[at], kept * from[at], write);
    }
  });
}

template <class Grid>
void DropoutOps<Grid>::forward(Grid& grid, const DropoutOp& op, const ForwardCall& call) {
  if (call.pass == Pass::train) {
    drop_on(grid, op, call.feed, call.inputs[0], call.output, Write::overwrite);
  } else if (call.output.data != call.inputs[0].data) {
    map_on(grid, call.inputs[0], call.output, [=] TRAINYARD_KERNEL(float x) { return x; });
  }
}

template <class Grid>
void DropoutOps<Grid>::backward(Grid& grid, const DropoutOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  drop_on(grid, op, call.feed, call.output_gradient, x.into, x.write);
}

}  // namespace trainyard::runtime
