// Where values come from: the batch and the parameters. Nothing is computed; their shapes are
// declared when they are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// The batch's features.
struct FeaturesOp {};

// The same where the batch has them as sparse rows: no tensor; only SparseMatMulOp and RowPoolOp
// read it.
struct SparseFeaturesOp {};

// A field of the batch's ids, which lie field after field: `columns` ids of each example, behind
// those of other fields, which have `before` of each.
struct IdField {
  std::int64_t before = 0;
  std::int64_t columns = 0;  // 0: all that there are
};

// The ids of a field, [time] or [] of an example: whole numbers, hence no tensor; only EmbeddingOp
// and RowLookupOp read it.
struct IdsOp {
  IdField field;
};

// Parameters or state, as they are.
struct VariableOp {
  std::size_t index;
};

OpTraits traits_of(const FeaturesOp& op);
OpTraits traits_of(const SparseFeaturesOp& op);
OpTraits traits_of(const IdsOp& op);
OpTraits traits_of(const VariableOp& op);

Shape shape_of(const FeaturesOp& op, std::span<const Shape> inputs);
Shape shape_of(const SparseFeaturesOp& op, std::span<const Shape> inputs);
Shape shape_of(const IdsOp& op, std::span<const Shape> inputs);
Shape shape_of(const VariableOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
