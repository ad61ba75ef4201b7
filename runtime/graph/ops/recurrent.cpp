#include "runtime/graph/ops/recurrent.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape recurrent_shape(const Recurrence& kind, std::span<const Shape> inputs) {
  const bool is_gru = kind.cell == RecurrentCell::gru;
  ENSURE(inputs.size() == (is_gru ? 5U : 4U));
  const Shape& x = inputs[0];
  ENSURE(x.rank() == 2 && inputs[2].rank() == 2);
  const std::int64_t units = inputs[2][0];
  const std::int64_t gates = gates_of(kind.cell) * units;
  ENSURE(inputs[1] == Shape({x[1], gates}) && inputs[2] == Shape({units, gates}));
  ENSURE(inputs[3] == Shape({gates}));
  if (is_gru) ENSURE(inputs[4] == Shape({units}));
  return kind.output == Recurrence::Output::all ? Shape{x[0], units} : Shape{units};
}

constexpr OpTraits recurrent_traits{.backward_reads_inputs = true};

}  // namespace

// The ids are read from the feed.
OpTraits traits_of(const EmbeddingOp&) { return {}; }
OpTraits traits_of(const LstmOp&) { return recurrent_traits; }
OpTraits traits_of(const GruOp&) { return recurrent_traits; }
OpTraits traits_of(const RnnOp&) { return recurrent_traits; }

Shape shape_of(const EmbeddingOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[1].rank() == 2);
  Shape shape = inputs[0];
  shape.append(inputs[1][1]);
  return shape;
}

Shape shape_of(const LstmOp& op, std::span<const Shape> inputs) {
  return recurrent_shape(recurrence_of(op), inputs);
}
Shape shape_of(const GruOp& op, std::span<const Shape> inputs) {
  return recurrent_shape(recurrence_of(op), inputs);
}
Shape shape_of(const RnnOp& op, std::span<const Shape> inputs) {
  return recurrent_shape(recurrence_of(op), inputs);
}

}  // namespace trainyard::runtime
