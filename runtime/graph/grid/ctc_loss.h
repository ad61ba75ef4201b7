// CTC's loss and its gradient on a grid, for some examples at once.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/ctc_trellis.h"

namespace trainyard::runtime {

// Which places have which class, and whether the text fits.
template <class Grid>
void place_texts_on(Grid& grid, const CtcBlock& block, std::int64_t examples) {
  grid.teams(examples, [=] TRAINYARD_KERNEL(std::int64_t example, typename Grid::Team team) {
    const CtcTexts& texts = block.texts;
    const CtcRoom& room = block.room;
    const std::int64_t number = block.first + example;
    const std::int64_t count = texts.symbol_count(number);
    const std::int32_t* const symbols = texts.symbols_of(number);
    const std::int64_t repeated = team.fold(
        count < 1 ? 0 : count - 1, std::int64_t{0},
        [=](std::int64_t i) { return std::int64_t{symbols[i + 1] == symbols[i] ? 1 : 0}; },
        [](std::int64_t a, std::int64_t b) { return a + b; });
    const bool fits = count + repeated <= texts.length(number);
    if (team.is_first()) room.fits[example] = fits ? 1 : 0;
    if (!fits) return;
    std::int32_t* const at = room.at + example * room.places;
    std::int32_t* const next = room.next + example * room.places;
    std::int32_t* const heads = room.heads + example * texts.classes;
    const auto blank = static_cast<std::int32_t>(texts.blank);
    team.each(texts.classes, [=](std::int64_t i) { heads[i] = i == blank ? 0 : -1; });
    team.wait();
    team.each(count + 1, [=](std::int64_t i) {
      at[2 * i] = blank;
      next[2 * i] = i < count ? static_cast<std::int32_t>(2 * i + 2) : -1;
      if (i == count) return;
      const std::int32_t symbol = symbols[i];
      at[2 * i + 1] = texts.class_of(symbol);
      std::int64_t after = i + 1;
      while (after < count && symbols[after] != symbol) ++after;
      next[2 * i + 1] = after < count ? static_cast<std::int32_t>(2 * after + 1) : -1;
      std::int64_t before = i;
      while (before > 0 && symbols[before - 1] != symbol) --before;
      if (before == 0) heads[texts.class_of(symbol)] = static_cast<std::int32_t>(2 * i + 1);
    });
  });
}

// What the logarithms of the probabilities are made of, of each step.
template <class Grid>
void sum_scores_on(Grid& grid, const CtcBlock& block, std::int64_t examples) {
  const CtcTexts texts = block.texts;
  const CtcRoom room = block.room;
  const std::int64_t first = block.first;
  grid.each(examples * texts.time, [=] TRAINYARD_KERNEL(std::int64_t row) {
    if (row % texts.time >= texts.length(first + row / texts.time)) return;
    const float* const scores = texts.scores + (first * texts.time + row) * texts.classes;
    auto largest = static_cast<double>(scores[0]);
    for (std::int64_t i = 1; i < texts.classes; ++i) {
      largest = larger_double(largest, static_cast<double>(scores[i]));
    }
    double total = 0;
    for (std::int64_t i = 0; i < texts.classes; ++i) {
      total += exp_of_double(static_cast<double>(scores[i]) - largest);
    }
    room.largest[row] = largest;
    room.log_totals[row] = log_of_double(total);
  });
}

// scale * (softmax - occupancy), a class's occupancies in the order of its places.
template <class Grid>
void ctc_gradients_on(Grid& grid, const CtcBlock& block, std::int64_t examples, float* gradients) {
  const std::int64_t each = block.texts.time * block.texts.classes;
  grid.each(examples * each, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const CtcTexts& texts = block.texts;
    const CtcRoom& room = block.room;
    const std::int64_t example = i / each;
    const std::int64_t t = i % each / texts.classes;
    const std::int64_t at = i % texts.classes;
    const std::int64_t time = texts.length(block.first + example);
    float* const to = gradients + block.first * each + i;
    if (room.fits[example] == 0 || t >= time) {
      *to = 0.0F;
      return;
    }
    const std::int64_t places = 2 * texts.symbol_count(block.first + example) + 1;
    const CtcBand band = ctc_band(places, time, t);
    const double* const row = room.alpha_row(example, t);
    const std::int32_t* const next = room.next + example * room.places;
    double occupancy = 0.0;
    std::int64_t place = room.heads[example * texts.classes + at];
    if (at == texts.blank) place = (band.first + 1) / 2 * 2;
    for (; place >= 0 && place <= band.last; place = next[place]) {
      if (place >= band.first) occupancy += row[place - band.first];
    }
    const double softmax = exp_of_double(block.log_of(example, t, at));
    *to = static_cast<float>(block.scale(example) * (softmax - occupancy));
  });
}

}  // namespace trainyard::runtime
