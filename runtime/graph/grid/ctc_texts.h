// The texts of a batch for CTC, and the classes that a network has most likely written.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/softmax_rows.h"
#include "runtime/graph/grid/team.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// What is read of a batch.
struct CtcTexts {
  const float* scores = nullptr;          // [examples, time, classes]
  const std::int32_t* lengths = nullptr;  // none: all examples are full
  const std::int32_t* symbols = nullptr;  // see Feed
  const std::int32_t* offsets = nullptr;
  std::int64_t time = 0;
  std::int64_t classes = 0;
  std::int64_t blank = 0;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t length(std::int64_t example) const {
    return lengths == nullptr ? time : lengths[example];
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t symbol_count(std::int64_t example) const {
    return offsets[example + 1] - offsets[example];
  }
  [[nodiscard]] TRAINYARD_BOTH const std::int32_t* symbols_of(std::int64_t example) const {
    return symbols + offsets[example];
  }
  [[nodiscard]] TRAINYARD_BOTH std::int32_t class_of(std::int32_t symbol) const {
    return symbol <= blank ? symbol - 1 : symbol;
  }
};

template <class Kind>
CtcTexts texts_of(const Kind& op, const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  return {
      .scores = call.inputs[0].data,
      .lengths = op.has_lengths && !call.feed.lengths.empty() ? call.feed.lengths.data() : nullptr,
      .symbols = call.feed.symbols.data(),
      .offsets = call.feed.symbol_offsets.data(),
      .time = shape[1],
      .classes = shape[2],
      .blank = op.blank};
}

// What was decoded, in scratch.
struct DecodedTexts {
  std::int32_t* best = nullptr;     // [examples, time]: at each step
  std::int32_t* classes = nullptr;  // [examples, time]: without repetitions and blanks
  std::int32_t* counts = nullptr;   // [examples]: how many these are
};
inline std::int64_t decoded_elements(std::int64_t examples, std::int64_t time) {
  return examples * (2 * time + 1);
}
inline DecodedTexts cut_decoded(float* scratch, std::int64_t examples, std::int64_t time) {
  auto* const numbers = reinterpret_cast<std::int32_t*>(scratch);
  return {.best = numbers,
          .classes = numbers + examples * time,
          .counts = numbers + 2 * examples * time};
}

template <class Grid>
void decode_on(Grid& grid, const CtcTexts& texts, std::int64_t examples, const DecodedTexts& to) {
  grid.teams(examples * texts.time, [=] TRAINYARD_KERNEL(std::int64_t row,
                                                         typename Grid::Team team) {
    if (row % texts.time >= texts.length(row / texts.time)) return;
    const float* const scores = texts.scores + row * texts.classes;
    const float largest = team.fold(
        texts.classes, scores[0], [=](std::int64_t i) { return scores[i]; },
        [](float a, float b) { return larger_of(a, b); });
    const auto none = static_cast<std::int32_t>(texts.classes);
    const std::int32_t first = team.fold(
        texts.classes, none,
        [=](std::int64_t i) { return scores[i] == largest ? static_cast<std::int32_t>(i) : none; },
        [](std::int32_t a, std::int32_t b) { return b < a ? b : a; });
    if (team.is_first()) to.best[row] = first == none ? 0 : first;  // a first NaN is never exceeded
  });
  grid.each(examples, [=] TRAINYARD_KERNEL(std::int64_t example) {
    const std::int32_t* const best = to.best + example * texts.time;
    std::int32_t* const classes = to.classes + example * texts.time;
    const std::int64_t length = texts.length(example);
    std::int64_t before = texts.blank;
    std::int32_t count = 0;
    for (std::int64_t t = 0; t < length; ++t) {
      if (best[t] != before && best[t] != texts.blank) classes[count++] = best[t];
      before = best[t];
    }
    to.counts[example] = count;
  });
}

}  // namespace trainyard::runtime
