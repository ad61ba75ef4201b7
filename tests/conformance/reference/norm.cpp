// Normalisations, and the functions of a row.
#include <cmath>

#include "runtime/math/ops/row_function.h"
#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// Places in x of what has one mean and one variance.
using Members = std::vector<std::int64_t>;

struct Moments {
  Number mean;
  Number variance;
};

Number mean_of(Sum& sum, const Members& members) {
  return sum.number() / static_cast<double>(members.size());
}

Moments moments_of(const Array& x, const Members& members, bool has_mean) {
  Sum sum;
  for (const std::int64_t at : members) sum.add(x[at]);
  const Number mean = has_mean ? mean_of(sum, members) : Number(0);
  Sum squares;
  for (const std::int64_t at : members) {
    const Number distance = x[at] - mean;
    squares.add_product(distance, distance);
  }
  return {mean, mean_of(squares, members)};
}

struct Kind {
  double epsilon;
  NormInputs has;
  bool has_mean = true;
};

void normalise(const Kind& kind, const Call& call, const Members& members, const Moments& moments,
               Numbers& y) {
  const std::int64_t channels = call.output.columns();
  const Number deviation = sqrt(moments.variance + kind.epsilon);
  for (const std::int64_t at : members) {
    Number value = (call.x()[at] - moments.mean) / deviation;
    if (kind.has.scale) value = value * call.inputs[1][at % channels];
    if (kind.has.offset) value += call.inputs[kind.has.scale ? 2 : 1][at % channels];
    y[static_cast<std::size_t>(at)] = value;
  }
}

// set_of(place in x) < count: which of them has one mean.
template <class SetOf>
std::vector<Members> sets_of(const Call& call, std::int64_t count, SetOf set_of) {
  std::vector<Members> sets(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; at < call.x().shape.elements(); ++at) {
    sets[static_cast<std::size_t>(set_of(at))].push_back(at);
  }
  return sets;
}

std::vector<Members> channels_of(const Call& call) {
  const std::int64_t channels = call.x().shape.columns();
  return sets_of(call, channels, [channels](std::int64_t at) { return at % channels; });
}

Numbers normalised(const Kind& kind, const Call& call, const std::vector<Members>& sets) {
  Numbers y(call.x().values.size());
  for (const Members& members : sets) {
    normalise(kind, call, members, moments_of(call.x(), members, kind.has_mean), y);
  }
  return y;
}

Numbers by_rows(const Kind& kind, const Call& call) {
  const std::int64_t channels = call.x().shape.columns();
  return normalised(kind, call, sets_of(call, call.x().shape.rows(), [channels](std::int64_t at) {
                      return at / channels;
                    }));
}

// The rows of the last axis, each by itself.
template <class Function>
Numbers each_row(const Call& call, Function function) {
  Numbers y;
  const std::int64_t columns = call.x().shape.columns();
  for (std::int64_t row = 0; row < call.x().shape.rows(); ++row) {
    const Numbers made = function(&call.x()[row * columns], columns);
    y.insert(y.end(), made.begin(), made.end());
  }
  return y;
}

}  // namespace

Numbers defined(const BatchNormOp& op, const Call& call) {
  const Kind kind{.epsilon = op.epsilon, .has = op.has};
  const std::vector<Members> sets = channels_of(call);
  if (call.pass == Pass::train) return normalised(kind, call, sets);
  Numbers y(call.x().values.size());
  const std::size_t state = 1 + op.has.count();
  for (std::size_t channel = 0; channel < sets.size(); ++channel) {
    normalise(kind, call, sets[channel],
              {call.inputs[state].values[channel], call.inputs[state + 1].values[channel]}, y);
  }
  return y;
}

StateSums state_sums(const Call& call) {
  StateSums sums;
  const auto examples = static_cast<double>(call.feed.examples);
  for (const Members& members : channels_of(call)) {
    const Moments moments = moments_of(call.x(), members, true);
    const auto count = static_cast<double>(members.size());
    sums.mean.push_back(examples * moments.mean.value);
    sums.variance.push_back(count == 1 ? 0
                                       : examples * moments.variance.value * count / (count - 1));
  }
  return sums;
}

Numbers defined(const LayerNormOp& op, const Call& call) {
  return by_rows({.epsilon = op.epsilon, .has = op.has}, call);
}

Numbers defined(const RmsNormOp& op, const Call& call) {
  return by_rows({.epsilon = op.epsilon, .has = op.has, .has_mean = false}, call);
}

Numbers defined(const GroupNormOp& op, const Call& call) {
  const std::int64_t channels = call.x().shape.columns();
  const std::int64_t each = call.x().shape.elements() / call.x().shape[0];
  const auto set_of = [&](std::int64_t at) {
    return at / each * op.groups + at % channels / (channels / op.groups);
  };
  return normalised({.epsilon = op.epsilon, .has = op.has}, call,
                    sets_of(call, call.x().shape[0] * op.groups, set_of));
}

Numbers defined(const SoftmaxOp&, const Call& call) {
  return each_row(call, [](const Number* x, std::int64_t columns) {
    Numbers y = log_losses(x, columns);
    for (Number& value : y) value = exp(-value);
    return y;
  });
}

Numbers defined(const LogSoftmaxOp&, const Call& call) {
  return each_row(call, [](const Number* x, std::int64_t columns) {
    Numbers y = log_losses(x, columns);
    for (Number& value : y) value = -value;
    return y;
  });
}

Numbers defined(const L2NormalizeOp&, const Call& call) {
  return each_row(call, [](const Number* x, std::int64_t columns) {
    Sum squares;
    for (std::int64_t i = 0; i < columns; ++i) squares.add_product(x[i], x[i]);
    const Number square = squares.number();
    const auto least = static_cast<double>(l2_norm_least);
    const Number norm = square.value < least * least ? Number(least) : sqrt(square);
    Numbers y;
    for (std::int64_t i = 0; i < columns; ++i) y.push_back(x[i] / norm);
    return y;
  });
}

}  // namespace trainyard::runtime::reference
