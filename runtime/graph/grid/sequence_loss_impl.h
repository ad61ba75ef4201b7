// The kernels of sequence_loss.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/graph/grid/ctc_loss.h"
#include "runtime/graph/grid/ctc_texts.h"
#include "runtime/graph/grid/edit_distance.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/sequence_loss.h"
#include "runtime/graph/grid/softmax_rows.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// The probabilities are kept; each token's loss lies in the scratch until they are summed.
template <class Grid>
Needs SequenceLossOps<Grid>::needs(const TokenCrossEntropyOp&, std::span<const Shape> inputs,
                                   const Shape&) {
  return {.saved = inputs[0].elements(), .scratch = inputs[0].rows()};
}

template <class Grid>
Needs SequenceLossOps<Grid>::needs(const MatchTokensOp&, std::span<const Shape> inputs,
                                   const Shape&) {
  return {.scratch = inputs[0].rows()};
}

// The gradient is made beside the loss, and kept. With much time the examples take turns.
template <class Grid>
Needs SequenceLossOps<Grid>::needs(const CtcOp&, std::span<const Shape> inputs, const Shape&) {
  constexpr std::int64_t elements_wanted = std::int64_t{1} << 28;
  const std::int64_t each = ctc_elements(inputs[0][1], inputs[0][2]);
  const std::int64_t at_once = std::max<std::int64_t>(1, elements_wanted / each);
  return {.saved = inputs[0].elements(), .scratch = std::min(inputs[0][0], at_once) * each};
}

template <class Grid>
Needs SequenceLossOps<Grid>::needs(const EditDistanceOp&, std::span<const Shape> inputs,
                                   const Shape&) {
  return {.scratch = decoded_elements(inputs[0][0], inputs[0][1]) +
                     EditDistanceBlock::elements(inputs[0][0], inputs[0][1])};
}

template <class Grid>
Needs SequenceLossOps<Grid>::needs(const MatchSequenceOp&, std::span<const Shape> inputs,
                                   const Shape&) {
  return {.scratch = decoded_elements(inputs[0][0], inputs[0][1])};
}

inline TokenRows token_rows_of(const Feed& feed, std::int64_t time) {
  return {.labels = feed.token_labels.data(),
          .lengths = feed.lengths.empty() ? nullptr : feed.lengths.data(),
          .time = time};
}

inline LogitRows token_logits_of(const float* data, const Shape& shape) {
  return {.logits = data, .count = shape[0] * shape[1], .columns = shape[2]};
}

// to [examples] = the sum in double of what each of its tokens has.
template <class Grid>
void sum_tokens_on(Grid& grid, const TokenRows& rows, const float* values, Tensor to) {
  float* const sums = to.data;
  grid.teams(to.elements(), [=] TRAINYARD_KERNEL(std::int64_t example, typename Grid::Team team) {
    const float* const from = values + example * rows.time;
    const double sum = team.fold(
        rows.length(example), 0.0, [=](std::int64_t i) { return static_cast<double>(from[i]); },
        [](double a, double b) { return a + b; });
    if (team.is_first()) sums[example] = static_cast<float>(sum);
  });
}

template <class Grid>
void SequenceLossOps<Grid>::forward(Grid& grid, const TokenCrossEntropyOp& op,
                                    const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const TokenRows rows = token_rows_of(call.feed, shape[1]);
  softmax_cross_entropy_on(grid, rows, token_logits_of(call.inputs[0].data, shape),
                           static_cast<float>(op.label_smoothing), call.scratch.data,
                           call.pass == Pass::train ? call.saved.data : nullptr);
  sum_tokens_on(grid, rows, call.scratch.data, call.output);
}

template <class Grid>
void SequenceLossOps<Grid>::backward(Grid& grid, const TokenCrossEntropyOp& op,
                                     const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  if (logits.into.data == nullptr) return;
  const Shape& shape = call.inputs[0].shape;
  softmax_cross_entropy_gradient_on(grid, token_rows_of(call.feed, shape[1]),
                                    token_logits_of(call.saved.data, shape),
                                    static_cast<float>(op.label_smoothing),
                                    call.output_gradient.data, logits.into.data, logits.write);
}

template <class Grid>
void SequenceLossOps<Grid>::forward(Grid& grid, const MatchTokensOp&, const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const TokenRows rows = token_rows_of(call.feed, shape[1]);
  match_rows_on(grid, rows, token_logits_of(call.inputs[0].data, shape), call.scratch.data);
  sum_tokens_on(grid, rows, call.scratch.data, call.output);
}

template <class Grid>
void SequenceLossOps<Grid>::forward(Grid& grid, const CtcOp& op, const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const std::int64_t at_once =
      std::min(shape[0], call.scratch.elements() / ctc_elements(shape[1], shape[2]));
  ENSURE(at_once > 0);
  CtcBlock block{.texts = texts_of(op, call),
                 .room = cut_ctc(call.scratch.data, at_once, shape[1], shape[2]),
                 .divides_by_label = op.divides_by_label,
                 .impossible = op.skips_impossible ? 0.0F : std::numeric_limits<float>::infinity(),
                 .has_gradient = call.pass == Pass::train,
                 .losses = call.output.data};
  for (; block.first < shape[0]; block.first += at_once) {
    const std::int64_t examples = std::min(at_once, shape[0] - block.first);
    place_texts_on(grid, block, examples);
    sum_scores_on(grid, block, examples);
    grid.blocks(examples, block);
    if (block.has_gradient) ctc_gradients_on(grid, block, examples, call.saved.data);
  }
}

template <class Grid>
void SequenceLossOps<Grid>::backward(Grid& grid, const CtcOp&, const BackwardCall& call) {
  const GradientTarget& scores = call.input_gradients[0];
  if (scores.into.data == nullptr) return;
  const Shape& shape = call.inputs[0].shape;
  const std::int64_t each = shape[1] * shape[2];
  const float* const from = call.saved.data;
  const float* const scales = call.output_gradient.data;
  float* const to = scores.into.data;
  const Write write = scores.write;
  grid.each(shape.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    put(to[i], scales[i / each] * from[i], write);
  });
}

template <class Grid>
void SequenceLossOps<Grid>::forward(Grid& grid, const EditDistanceOp& op, const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const CtcTexts texts = texts_of(op, call);
  const DecodedTexts decoded = cut_decoded(call.scratch.data, shape[0], shape[1]);
  decode_on(grid, texts, shape[0], decoded);
  float* const rest = call.scratch.data + decoded_elements(shape[0], shape[1]);
  grid.blocks(shape[0], EditDistanceBlock{.texts = texts,
                                          .decoded = decoded,
                                          .diagonals = reinterpret_cast<std::int32_t*>(rest),
                                          .distances = call.output.data});
}

template <class Grid>
void SequenceLossOps<Grid>::forward(Grid& grid, const MatchSequenceOp& op,
                                    const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const CtcTexts texts = texts_of(op, call);
  const DecodedTexts decoded = cut_decoded(call.scratch.data, shape[0], shape[1]);
  decode_on(grid, texts, shape[0], decoded);
  float* const matches = call.output.data;
  grid.teams(shape[0], [=] TRAINYARD_KERNEL(std::int64_t example, typename Grid::Team team) {
    const std::int32_t* const classes = decoded.classes + example * texts.time;
    const std::int32_t* const symbols = texts.symbols_of(example);
    const std::int64_t count = decoded.counts[example];
    const bool is_as_long = count == texts.symbol_count(example);
    const int wrong = team.fold(
        is_as_long ? count : 0, 0,
        [=](std::int64_t i) { return classes[i] == texts.class_of(symbols[i]) ? 0 : 1; },
        [](int a, int b) { return a + b; });
    if (team.is_first()) matches[example] = is_as_long && wrong == 0 ? 1.0F : 0.0F;
  });
}

}  // namespace trainyard::runtime
