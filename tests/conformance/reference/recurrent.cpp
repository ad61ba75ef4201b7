// Rows by their ids, and networks that walk along a sequence.
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// What a step makes of one example: gates of x and of the state before, as the kernels' columns
// lie.
class Cell {
 public:
  explicit Cell(const Call& call)
      : call_(call),
        in_(call.x().shape[2]),
        units_(call.inputs[2].shape[0]),
        columns_(call.inputs[1].shape[1]) {}

  [[nodiscard]] std::int64_t units() const { return units_; }

  [[nodiscard]] Number of_x(std::int64_t step, std::int64_t column) const {
    Sum sum;
    for (std::int64_t i = 0; i < in_; ++i) {
      sum.add_product(call_.x()[step * in_ + i], call_.inputs[1][i * columns_ + column]);
    }
    sum.add(call_.inputs[3][column]);
    return sum.number();
  }

  [[nodiscard]] Number of_state(const Numbers& h, std::int64_t column) const {
    Sum sum;
    for (std::int64_t i = 0; i < units_; ++i) {
      sum.add_product(h[static_cast<std::size_t>(i)], call_.inputs[2][i * columns_ + column]);
    }
    return sum.number();
  }

 private:
  const Call& call_;
  std::int64_t in_;
  std::int64_t units_;
  std::int64_t columns_;
};

// next(step of all examples, h) makes the state after a step out of the one before; begin() is
// called where an example begins.
template <class Begin, class Next>
Numbers walked(const Along& along, const Call& call, std::int64_t units, Begin begin, Next next) {
  const std::int64_t time = call.x().shape[1];
  const bool gives_all = along.output == Recurrence::Output::all;
  Numbers y(static_cast<std::size_t>(call.output.elements()));
  for (std::int64_t example = 0; example < call.x().shape[0]; ++example) {
    const std::int64_t length = along.has_lengths ? call.length(example, time) : time;
    Numbers h(static_cast<std::size_t>(units));
    begin();
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = along.order == TimeOrder::forward ? i : length - 1 - i;
      h = next(example * time + t, h);
      if (gives_all) std::ranges::copy(h, y.begin() + (example * time + t) * units);
    }
    if (!gives_all) std::ranges::copy(h, y.begin() + example * units);
  }
  return y;
}

}  // namespace

Numbers defined(const EmbeddingOp& op, const Call& call) {
  const Array& table = call.inputs[1];
  const std::int64_t size = table.shape.columns();
  const std::int64_t ids = call.output.elements() / size;
  const std::int64_t before = op.field.columns == 0 ? 0 : op.field.before * call.feed.examples;
  Numbers y;
  for (std::int64_t i = 0; i < ids; ++i) {
    const std::int64_t id = call.feed.ids[static_cast<std::size_t>(before + i)];
    for (std::int64_t column = 0; column < size; ++column) y.push_back(table[id * size + column]);
  }
  return y;
}

Numbers defined(const LstmOp& op, const Call& call) {
  const Cell cell(call);
  const std::int64_t units = cell.units();
  Numbers c;
  const auto begin = [&] { c.assign(static_cast<std::size_t>(units), 0.0); };
  return walked(op.along, call, units, begin, [&](std::int64_t step, const Numbers& h) {
    Numbers next;
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const auto gate = [&](std::int64_t number) {
        const std::int64_t column = number * units + unit;
        return cell.of_x(step, column) + cell.of_state(h, column);
      };
      Number& carried = c[static_cast<std::size_t>(unit)];
      carried = sigmoid(gate(1)) * carried + sigmoid(gate(0)) * tanh(gate(2));
      next.push_back(sigmoid(gate(3)) * tanh(carried));
    }
    return next;
  });
}

Numbers defined(const GruOp& op, const Call& call) {
  const Cell cell(call);
  const std::int64_t units = cell.units();
  return walked(
      op.along, call, units, [] {},
      [&](std::int64_t step, const Numbers& h) {
        Numbers next;
        for (std::int64_t unit = 0; unit < units; ++unit) {
          const auto gate = [&](std::int64_t number) {
            const std::int64_t column = number * units + unit;
            return sigmoid(cell.of_x(step, column) + cell.of_state(h, column));
          };
          const std::int64_t column = 2 * units + unit;
          const Number n = tanh(cell.of_x(step, column) +
                                gate(0) * (cell.of_state(h, column) + call.inputs[4][unit]));
          const Number z = gate(1);
          next.push_back((Number(1) - z) * n + z * h[static_cast<std::size_t>(unit)]);
        }
        return next;
      });
}

Numbers defined(const RnnOp& op, const Call& call) {
  const Cell cell(call);
  return walked(
      op.along, call, cell.units(), [] {},
      [&](std::int64_t step, const Numbers& h) {
        Numbers next;
        for (std::int64_t unit = 0; unit < cell.units(); ++unit) {
          const Number sum = cell.of_x(step, unit) + cell.of_state(h, unit);
          next.push_back(!op.is_relu ? tanh(sum) : sum.value > 0 ? sum : sum * 0.0);
        }
        return next;
      });
}

}  // namespace trainyard::runtime::reference
