// Losses and metrics, of single examples and of pairs in a batch.
#include <algorithm>
#include <cmath>

#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

// of(example) for each.
template <class Of>
Numbers by_example(const Call& call, Of of) {
  Numbers y;
  for (std::int64_t example = 0; example < call.feed.examples; ++example) y.push_back(of(example));
  return y;
}

std::int64_t label_of(const Call& call, std::int64_t example) {
  return call.feed.labels[static_cast<std::size_t>(example)];
}

Number distance(const Call& call, std::int64_t example) {
  return call.x()[example] -
         static_cast<double>(call.feed.targets[static_cast<std::size_t>(example)]);
}

// How many of them come before `own`: those that are larger, and of equal ones those that lie
// before it.
std::int64_t count_before(const Number* scores, std::int64_t count, std::int64_t own) {
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    before +=
        scores[i].value > scores[own].value || (i < own && scores[i].value == scores[own].value);
  }
  return before;
}

double is_among(std::int64_t k, const Number* scores, std::int64_t count, std::int64_t own) {
  return !std::isnan(scores[own].value) && count_before(scores, count, own) < k ? 1 : 0;
}

// A user's products with all items.
Numbers products(const Call& call, std::int64_t user) {
  const std::int64_t features = call.x().shape.columns();
  Numbers scores;
  for (std::int64_t item = 0; item < call.feed.examples; ++item) {
    Sum sum;
    for (std::int64_t i = 0; i < features; ++i) {
      sum.add_product(call.x()[user * features + i], call.inputs[1][item * features + i]);
    }
    scores.push_back(sum.number());
  }
  return scores;
}

}  // namespace

Numbers log_losses(const Number* logits, std::int64_t classes) {
  double largest = logits[0].value;
  for (std::int64_t i = 1; i < classes; ++i) largest = std::max(largest, logits[i].value);
  Sum sum;
  for (std::int64_t i = 0; i < classes; ++i) sum.add(exp(logits[i] - largest));
  const Number total = log(sum.number()) + largest;
  Numbers losses;
  for (std::int64_t i = 0; i < classes; ++i) losses.push_back(total - logits[i]);
  return losses;
}

Number cross_entropy(const Number* logits, std::int64_t classes, std::int64_t label,
                     double smoothing) {
  const Numbers losses = log_losses(logits, classes);
  Sum sum;
  for (const Number& loss : losses) sum.add(loss);
  return losses[static_cast<std::size_t>(label)] * (1 - smoothing) +
         sum.number() * (smoothing / static_cast<double>(classes));
}

double matches(const Number* logits, std::int64_t classes, std::int64_t label) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < classes; ++i) {
    if (logits[best].value < logits[i].value) best = i;
  }
  return best == label ? 1 : 0;
}

Numbers defined(const SoftmaxCrossEntropyOp& op, const Call& call) {
  const std::int64_t classes = call.x().shape.columns();
  return by_example(call, [&](std::int64_t example) {
    return cross_entropy(&call.x()[example * classes], classes, label_of(call, example),
                         op.label_smoothing);
  });
}

Numbers defined(const SigmoidCrossEntropyOp& op, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    const Number& logit = call.x()[example];
    const double own = 1 - op.label_smoothing / 2;
    const double one = label_of(call, example) == 1 ? own : 1 - own;
    return log_add(-logit, 0.0) * one + log_add(logit, 0.0) * (1 - one);
  });
}

Numbers defined(const SquaredErrorOp&, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    const Number off = distance(call, example);
    return off * off;
  });
}

Numbers defined(const HuberOp& op, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    const Number off = distance(call, example);
    const Number length = off.value < 0 ? -off : off;
    if (length.value <= op.delta) return off * off * 0.5;
    return (length - op.delta / 2) * op.delta;
  });
}

Numbers defined(const MatchLabelsOp&, const Call& call) {
  const std::int64_t classes = call.x().shape.columns();
  return by_example(call, [&](std::int64_t example) {
    return Number(matches(&call.x()[example * classes], classes, label_of(call, example)));
  });
}

Numbers defined(const MatchBinaryLabelsOp&, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    const double logit = call.x()[example].value;
    const bool is_one = label_of(call, example) == 1;
    return Number(is_one ? logit > 0 : logit <= 0);
  });
}

Numbers defined(const TopKOp& op, const Call& call) {
  const std::int64_t classes = call.x().shape.columns();
  return by_example(call, [&](std::int64_t example) {
    return Number(is_among(op.k, &call.x()[example * classes], classes, label_of(call, example)));
  });
}

Numbers defined(const AbsoluteErrorOp&, const Call& call) {
  return by_example(
      call, [&](std::int64_t example) { return Number(std::abs(distance(call, example).value)); });
}

Numbers defined(const InBatchSoftmaxOp& op, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    Numbers scores = products(call, example);
    for (std::size_t item = 0; item < scores.size(); ++item) {
      scores[item] = scores[item] / op.temperature;
      if (call.inputs.size() > 2) scores[item] = scores[item] - call.inputs[2].values[item];
    }
    return cross_entropy(scores.data(), std::ssize(scores), example, 0);
  });
}

Numbers defined(const RecallInBatchOp& op, const Call& call) {
  return by_example(call, [&](std::int64_t example) {
    const Numbers scores = products(call, example);
    return Number(is_among(op.k, scores.data(), std::ssize(scores), example));
  });
}

}  // namespace trainyard::runtime::reference
