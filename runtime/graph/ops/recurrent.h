// Rows of a table by their ids, and networks that walk along a sequence, in one direction each. In
// both directions: two of them, and ConcatOp.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/graph/ops/source.h"
#include "runtime/math/ops/recurrence.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Inputs: IdsOp [..] of this field, table [ids, size] -> [.., size].
struct EmbeddingOp {
  IdField field{};
};

// Where the sequence begins and ends, and what comes out.
struct Along {
  TimeOrder order = TimeOrder::forward;
  Recurrence::Output output = Recurrence::Output::last;
  // x's time is the data set's: the feed's lengths are those of x. Else all examples are full.
  bool has_lengths = false;
};

// Inputs: x [time, in], kernel [in, 4 * units], recurrent kernel [units, 4 * units], and bias [4 *
// units] -> [units], or [time, units] where all is given. runtime/math/ops/recurrence.h has the
// order of the gates and what is computed.
struct LstmOp {
  Along along;
};

// The same with 3 * units, and a recurrent bias [units] behind the bias.
struct GruOp {
  Along along;
};

// The same with `units`.
struct RnnOp {
  Along along;
  bool is_relu = false;  // else it is tanh
};

OpTraits traits_of(const EmbeddingOp& op);
OpTraits traits_of(const LstmOp& op);
OpTraits traits_of(const GruOp& op);
OpTraits traits_of(const RnnOp& op);

Shape shape_of(const EmbeddingOp& op, std::span<const Shape> inputs);
Shape shape_of(const LstmOp& op, std::span<const Shape> inputs);
Shape shape_of(const GruOp& op, std::span<const Shape> inputs);
Shape shape_of(const RnnOp& op, std::span<const Shape> inputs);

// What the kernels compute.
inline Recurrence recurrence_along(RecurrentCell cell, const Along& along) {
  return {.cell = cell, .order = along.order, .output = along.output};
}

inline Recurrence recurrence_of(const LstmOp& op) {
  return recurrence_along(RecurrentCell::lstm, op.along);
}
inline Recurrence recurrence_of(const GruOp& op) {
  return recurrence_along(RecurrentCell::gru, op.along);
}
inline Recurrence recurrence_of(const RnnOp& op) {
  return recurrence_along(op.is_relu ? RecurrentCell::rnn_relu : RecurrentCell::rnn_tanh, op.along);
}

}  // namespace trainyard::runtime
