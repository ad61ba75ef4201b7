// Losses of sequences, a number per example, and metrics that go with them. Labels are the feed's.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Logits [time, classes], token labels -> the sum of the softmax cross entropies of the tokens
// within the example's length.
struct TokenCrossEntropyOp {
  double label_smoothing = 0;  // in [0, 1)
};

// The same logits -> how many of these tokens are classified rightly.
struct MatchTokensOp {};

// Below, has_lengths = the scores' time is the data set's, and the feed's lengths say how many
// steps of an example count. Else all do.

// Scores [time, classes], symbols -> CTC's loss. Classes are those of the alphabet, with the blank
// put in among them.
struct CtcOp {
  std::int64_t blank = 0;
  bool divides_by_label = false;  // by the text's length
  bool skips_impossible = false;  // a text that does not fit has a loss of 0, not of infinity
  bool has_lengths = false;
};

// The same scores -> the edit distance of the most likely text, step by step, to the right one.
struct EditDistanceOp {
  std::int64_t blank = 0;
  bool has_lengths = false;
};

// 1 per example where the two are the same, else 0.
struct MatchSequenceOp {
  std::int64_t blank = 0;
  bool has_lengths = false;
};

OpTraits traits_of(const TokenCrossEntropyOp& op);
OpTraits traits_of(const MatchTokensOp& op);
OpTraits traits_of(const CtcOp& op);
OpTraits traits_of(const EditDistanceOp& op);
OpTraits traits_of(const MatchSequenceOp& op);

Shape shape_of(const TokenCrossEntropyOp& op, std::span<const Shape> inputs);
Shape shape_of(const MatchTokensOp& op, std::span<const Shape> inputs);
Shape shape_of(const CtcOp& op, std::span<const Shape> inputs);
Shape shape_of(const EditDistanceOp& op, std::span<const Shape> inputs);
Shape shape_of(const MatchSequenceOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
