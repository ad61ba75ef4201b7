// Dropout: what is kept in training is a function of the feed's seed and of where an example lies
// in the endless line of examples. In evaluation x stays as it is.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Any x that depends on the batch.
struct DropoutOp {
  double rate = 0;           // in [0, 1)
  std::uint32_t layer = 0;   // a number of its own for each dropout of a model
  std::uint64_t stride = 0;  // as of Dropout; Graph::follow() sets it
};

OpTraits traits_of(const DropoutOp& op);

Shape shape_of(const DropoutOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
