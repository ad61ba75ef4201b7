// What compares the examples of a batch with each other: two towers, users and items [features]
// each, whose right pairs are those of one example.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// A loss per example: softmax cross entropy of the user's products with all items of the batch.
// Inputs: users, items, and perhaps one number of each item that is subtracted from its scores.
struct InBatchSoftmaxOp {
  double temperature = 1;
};

// 1 per example whose own item is among the k of the largest products with its user, else 0.
struct RecallInBatchOp {
  std::int64_t k = 1;
};

OpTraits traits_of(const InBatchSoftmaxOp& op);
OpTraits traits_of(const RecallInBatchOp& op);

Shape shape_of(const InBatchSoftmaxOp& op, std::span<const Shape> inputs);
Shape shape_of(const RecallInBatchOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
