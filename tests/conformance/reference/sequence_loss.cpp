// Losses of sequences, and the texts that they are about.
#include <algorithm>
#include <limits>

#include "tests/conformance/reference/ops.h"

namespace trainyard::runtime::reference {
namespace {

using Text = std::vector<std::int64_t>;  // classes

constexpr double impossible = -std::numeric_limits<double>::infinity();

// Of [examples, time, classes] those of one step.
const Number* logits_of(const Call& call, std::int64_t example, std::int64_t t) {
  return &call.x()[(example * call.x().shape[1] + t) * call.x().shape[2]];
}

// What is right.
Text text_of(const Call& call, std::int64_t example, std::int64_t blank) {
  const auto at = static_cast<std::size_t>(example);
  Text text;
  for (std::int64_t i = call.feed.symbol_offsets[at]; i < call.feed.symbol_offsets[at + 1]; ++i) {
    const std::int64_t symbol = call.feed.symbols[static_cast<std::size_t>(i)];
    text.push_back(symbol <= blank ? symbol - 1 : symbol);
  }
  return text;
}

std::int64_t steps_of(bool has_lengths, const Call& call, std::int64_t example) {
  const std::int64_t time = call.x().shape[1];
  return has_lengths ? call.length(example, time) : time;
}

// The likeliest class of each step, without repetitions and blanks.
Text decoded(const Call& call, std::int64_t example, std::int64_t steps, std::int64_t blank) {
  Text text;
  std::int64_t before = blank;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Number* const scores = logits_of(call, example, t);
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < call.x().shape[2]; ++i) {
      if (scores[best].value < scores[i].value) best = i;
    }
    if (best != blank && best != before) text.push_back(best);
    before = best;
  }
  return text;
}

// Levenshtein's.
std::int64_t edit_distance(const Text& a, const Text& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<std::int64_t>(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t corner = row[0];
    row[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t changed = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, corner + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

// The logarithm of the text's probability: states are its classes with blanks around each.
Number log_probability(const Call& call, std::int64_t example, std::int64_t steps, const Text& text,
                       std::int64_t blank) {
  std::vector<std::int64_t> states{blank};
  for (const std::int64_t symbol : text) states.insert(states.end(), {symbol, blank});
  Numbers ways(states.size(), impossible);
  ways[0] = 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Numbers losses = log_losses(logits_of(call, example, t), call.x().shape[2]);
    Numbers next(states.size(), impossible);
    for (std::size_t s = 0; s < states.size(); ++s) {
      Number way = ways[s];
      // Before the first step all stand before the first blank, from which two states are reached.
      if (t == 0) {
        way = s < 2 ? Number(0) : Number(impossible);
      } else {
        if (s > 0) way = log_add(way, ways[s - 1]);
        if (s > 1 && states[s] != blank && states[s] != states[s - 2]) {
          way = log_add(way, ways[s - 2]);
        }
      }
      if (way.value != impossible) {
        next[s] = way - losses[static_cast<std::size_t>(states[s])];
      }
    }
    ways = next;
  }
  if (text.empty()) return ways[0];
  return log_add(ways[states.size() - 1], ways[states.size() - 2]);
}

template <class Of>
Numbers by_sequence(const Call& call, Of of) {
  Numbers y;
  for (std::int64_t example = 0; example < call.feed.examples; ++example) y.push_back(of(example));
  return y;
}

// of(token's logits, its label) summed over the tokens that count.
template <class Of>
Numbers by_tokens(const Call& call, Of of) {
  const std::int64_t time = call.x().shape[1];
  return by_sequence(call, [&](std::int64_t example) {
    Sum sum;
    for (std::int64_t t = 0; t < call.length(example, time); ++t) {
      const auto at = static_cast<std::size_t>(example * time + t);
      sum.add(of(logits_of(call, example, t), call.feed.token_labels[at]));
    }
    return sum.number();
  });
}

}  // namespace

Numbers defined(const TokenCrossEntropyOp& op, const Call& call) {
  return by_tokens(call, [&](const Number* logits, std::int64_t label) {
    return cross_entropy(logits, call.x().shape[2], label, op.label_smoothing);
  });
}

Numbers defined(const MatchTokensOp&, const Call& call) {
  return by_tokens(call, [&](const Number* logits, std::int64_t label) {
    return Number(matches(logits, call.x().shape[2], label));
  });
}

Numbers defined(const CtcOp& op, const Call& call) {
  return by_sequence(call, [&](std::int64_t example) {
    const Text text = text_of(call, example, op.blank);
    const std::int64_t steps = steps_of(op.has_lengths, call, example);
    const Number probability = log_probability(call, example, steps, text, op.blank);
    if (probability.value == impossible) return Number(op.skips_impossible ? 0 : -impossible);
    const auto parts = static_cast<double>(std::max<std::size_t>(1, text.size()));
    return -probability / (op.divides_by_label ? parts : 1.0);
  });
}

Numbers defined(const EditDistanceOp& op, const Call& call) {
  return by_sequence(call, [&](std::int64_t example) {
    const std::int64_t steps = steps_of(op.has_lengths, call, example);
    return Number(static_cast<double>(
        edit_distance(decoded(call, example, steps, op.blank), text_of(call, example, op.blank))));
  });
}

Numbers defined(const MatchSequenceOp& op, const Call& call) {
  return by_sequence(call, [&](std::int64_t example) {
    const std::int64_t steps = steps_of(op.has_lengths, call, example);
    return Number(decoded(call, example, steps, op.blank) == text_of(call, example, op.blank));
  });
}

}  // namespace trainyard::runtime::reference
