#include <cmath>
#include <limits>

#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

template <class Function>
Numbers each(const Array& x, Function function) {
  Numbers y;
  for (const Number& value : x.values) y.push_back(function(value));
  return y;
}

// x where it is above zero, else what `below` makes of it: at zero the slope is that from below.
template <class Below>
Number above_or(const Number& x, Below below) {
  return x.value > 0 ? x : below(x);
}

Number activated(const Activation& function, const Number& x) {
  const auto alpha = static_cast<double>(function.alpha);
  switch (function.kind) {
    case Nonlinearity::relu: return above_or(x, [](const Number& at) { return at * 0.0; });
    case Nonlinearity::leaky_relu:
      return above_or(x, [alpha](const Number& at) { return at * alpha; });
    case Nonlinearity::elu:
      return above_or(x, [alpha](const Number& at) { return (exp(at) - 1.0) * alpha; });
    case Nonlinearity::gelu: return x * 0.5 * (erf(x * std::sqrt(0.5)) + 1.0);
    case Nonlinearity::gelu_tanh: {
      constexpr double root_two_over_pi = 0.7978845608028654;
      return x * 0.5 * (tanh((x + x * x * x * 0.044715) * root_two_over_pi) + 1.0);
    }
    case Nonlinearity::silu: return x * sigmoid(x);
    case Nonlinearity::sigmoid: return sigmoid(x);
    case Nonlinearity::tanh: return tanh(x);
    case Nonlinearity::softplus: return log_add(x, 0.0);
    case Nonlinearity::exp: return exp(x);
    case Nonlinearity::log: return log(x);
    case Nonlinearity::log1p: return log1p(x);
    case Nonlinearity::sqrt: return sqrt(x);
    case Nonlinearity::square: return x * x;
    case Nonlinearity::abs:
      if (x.value == 0) return x * 0.0;
      return x.value < 0 ? -x : x;
  }
  return {};
}

Number combined(Binary op, const Number& a, const Number& b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::max: return a.value < b.value ? b : a;
    case Binary::min: return b.value < a.value ? b : a;
  }
  return {};
}

// Where an operand's number lies that meets the output's at `at`: the batch's axis apart, axes are
// counted from the last one on.
std::int64_t met_by(std::int64_t at, const Shape& output, const Shape& operand) {
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (std::size_t behind = 1; behind < output.rank(); ++behind) {
    const std::int64_t size = output[output.rank() - behind];
    const std::int64_t index = at % size;
    at /= size;
    if (behind >= operand.rank()) continue;
    const std::int64_t has = operand[operand.rank() - behind];
    place += has == 1 ? 0 : index * stride;
    stride *= has;
  }
  return place + at * stride;
}

}  // namespace

Numbers defined(const ActivationOp& op, const Call& call) {
  return each(call.x(), [&op](const Number& x) { return activated(op.function, x); });
}

Numbers defined(const PreluOp&, const Call& call) {
  Numbers y;
  const std::int64_t channels = call.output.columns();
  for (std::int64_t i = 0; i < call.output.elements(); ++i) {
    y.push_back(
        above_or(call.x()[i], [&](const Number& at) { return at * call.inputs[1][i % channels]; }));
  }
  return y;
}

Numbers defined(const AffineOp& op, const Call& call) {
  return each(call.x(), [&op](const Number& x) {
    return x * static_cast<double>(op.by.scale) + static_cast<double>(op.by.shift);
  });
}

Numbers defined(const ClipOp& op, const Call& call) {
  return each(call.x(), [&op](const Number& x) {
    const auto least = static_cast<double>(op.limits.least);
    const auto most = static_cast<double>(op.limits.most);
    return x.value < least ? Number(least) : x.value > most ? Number(most) : x;
  });
}

Numbers defined(const AddOp&, const Call& call) { return defined(BinaryOp{Binary::add}, call); }

Numbers defined(const BinaryOp& op, const Call& call) {
  Numbers y;
  for (std::int64_t i = 0; i < call.output.elements(); ++i) {
    y.push_back(combined(op.op, call.inputs[0][met_by(i, call.output, call.inputs[0].shape)],
                         call.inputs[1][met_by(i, call.output, call.inputs[1].shape)]));
  }
  return y;
}

}  // namespace trainyard::runtime::reference
