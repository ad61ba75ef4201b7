// Ops of sequences [time, features] that look at places: attention, learned positions, rotations.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/places.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Inputs: q [queries, features], k and v [keys, features] -> [queries, features].
struct SdpaOp {
  std::int64_t heads = 1;   // divides the features
  bool is_causal = false;   // a query sees no keys behind its own place; queries == keys then
  double dropout = 0;       // rate, of probabilities; in [0, 1)
  std::uint32_t layer = 0;  // a number of its own among the dropouts of a model
  bool has_lengths = true;  // keys beyond the feed's length of an example are not seen
  // As of Attention; Graph::follow() sets them.
  std::int64_t line_queries = 0;
  std::int64_t line_keys = 0;
};

// Inputs: x [time, features], table [length of time or more, features] -> their sum.
struct PositionsOp {};

// Input: x [time, features]; each head's pairs of features are rotated.
struct RopeOp {
  Rotation rotation;
};

OpTraits traits_of(const SdpaOp& op);
OpTraits traits_of(const PositionsOp& op);
OpTraits traits_of(const RopeOp& op);

Shape shape_of(const SdpaOp& op, std::span<const Shape> inputs);
Shape shape_of(const PositionsOp& op, std::span<const Shape> inputs);
Shape shape_of(const RopeOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
