// Rows of numbers that are added to rows of a matrix, many to one of them, in the order in which
// they stand: what a loop over them does, without one. They are sorted by the row that they are for
// (key_sort.h); then each number of a row has one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/grid/key_sort.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// So many at once: the rest after them, which is the same order.
inline std::int64_t keys_at_once(std::int64_t keys) {
  constexpr std::int64_t keys_max = std::int64_t{1} << 18;
  return std::clamp<std::int64_t>(keys, 1, keys_max);
}

// Elements of scratch for so many keys; there may be more of them.
inline std::int64_t by_key_scratch(std::int64_t keys) {
  const std::int64_t at_once = keys_at_once(keys);
  return 4 * at_once + key_sums(at_once);
}

// sum + term(0) + term(1) + .., in that order; the terms are read some at a time.
template <class Term>
TRAINYARD_BOTH float chain_of(float sum, std::int64_t count, const Term& term) {
  constexpr int at_once = 16;
  std::int64_t first = 0;
  for (; first + at_once <= count; first += at_once) {
    float terms[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) terms[i] = term(first + i);
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += terms[i];
  }
  for (; first < count; ++first) sum += term(first);
  return sum;
}

// Of an element with a key: weight * the source's row of gradients is what it adds.
struct Keyed {
  std::int32_t source = 0;
  float weight = 1;
};

struct ByKey {
  const std::int32_t* keys = nullptr;  // which row of `into`, of each element
  std::int64_t count = 0;
  std::int64_t keys_end = 0;    // rows of `into`
  const float* from = nullptr;  // [sources, columns]
  std::int64_t columns = 0;
  float* into = nullptr;   // where the columns of row 0 begin
  std::int64_t width = 0;  // from a row of it to the next
};

// How many of the sorted elements have the key of the one at i, which is the first of them.
TRAINYARD_BOTH inline std::int64_t run_length(const std::int32_t* keys, const std::int32_t* order,
                                              std::int64_t count, std::int64_t i) {
  const std::int32_t key = keys[order[i]];
  std::int64_t inside = i;  // has the key
  std::int64_t reach = 1;
  while (inside + reach < count && keys[order[inside + reach]] == key) {
    inside += reach;
    reach *= 2;
  }
  std::int64_t beyond = inside + reach < count ? inside + reach : count;  // has not
  while (beyond - inside > 1) {
    const std::int64_t middle = inside + (beyond - inside) / 2;
    if (keys[order[middle]] == key) {
      inside = middle;
    } else {
      beyond = middle;
    }
  }
  return beyond - i;
}

// into[key, column] += weight * from[source, column] for each element, one after another;
// keyed_of(element) is what TRAINYARD_BOTH says of it.
template <class Grid, class KeyedOf>
void add_by_key(Grid& grid, const ByKey& by, std::int64_t keys_wanted, Tensor scratch,
                const KeyedOf& keyed_of) {
  const std::int64_t at_once = keys_at_once(keys_wanted);
  auto* const room = reinterpret_cast<std::int32_t*>(scratch.data);
  auto* const sources = room + 2 * at_once;
  float* const weights = scratch.data + 3 * at_once;
  const std::int64_t columns = by.columns;
  for (std::int64_t begin = 0; begin < by.count; begin += at_once) {
    const std::int64_t count = std::min(at_once, by.count - begin);
    const std::int32_t* const keys = by.keys + begin;
    const KeyOrder sorted =
        sort_keys(grid, keys, count, by.keys_end, room, room + at_once, room + 4 * at_once);
    const std::int32_t* const order = sorted.order;
    std::int32_t* const runs = sorted.spare;  // of the first of a key how many there are, else 0
    grid.each(count, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const bool is_first = i == 0 || keys[order[i]] != keys[order[i - 1]];
      runs[i] = is_first ? static_cast<std::int32_t>(run_length(keys, order, count, i)) : 0;
      const Keyed keyed = keyed_of(begin + order[i]);
      sources[i] = keyed.source;
      weights[i] = keyed.weight;
    });
    const float* const from = by.from;
    float* const into = by.into;
    const std::int64_t width = by.width;
    grid.each(count * columns, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const std::int64_t first = i / columns;
      const std::int64_t column = i % columns;
      if (runs[first] == 0) return;
      float& place = into[keys[order[first]] * width + column];
      place = chain_of(place, runs[first], [&](std::int64_t k) {
        return weights[first + k] * from[sources[first + k] * columns + column];
      });
    });
  }
}

// The same of elements that are their own sources, with a weight of 1.
template <class Grid>
void add_by_place(Grid& grid, const ByKey& by, Tensor scratch) {
  add_by_key(grid, by, by.count, scratch, [=] TRAINYARD_KERNEL(std::int64_t element) -> Keyed {
    return {static_cast<std::int32_t>(element), 1.0F};
  });
}

// found [.., columns]: of each key its row of the matrix whose rows are `width` apart.
template <class Grid>
void look_up_on(Grid& grid, const std::int32_t* keys, const float* rows, std::int64_t width,
                Tensor found) {
  const std::int64_t columns = found.shape.columns();
  float* const to = found.data;
  grid.each(found.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    to[i] = rows[keys[i / columns] * width + i % columns];
  });
}

template <class Grid>
void clear_rows_on(Grid& grid, Tensor rows) {
  float* const to = rows.data;
  grid.each(rows.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) { to[i] = 0.0F; });
}

// Which of the rows, whose elements are from offsets[row] to offsets[row + 1], has element i.
TRAINYARD_BOTH inline std::int64_t row_of_element(const std::int64_t* offsets, std::int64_t rows,
                                                  std::int64_t i) {
  std::int64_t low = 0;
  std::int64_t high = rows - 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (offsets[middle + 1] > i) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace trainyard::runtime
