// Positions in the order of the keys that stand there, on a grid: of one key in the order in which
// they stood. A radix sort from the lowest digit, of four bits: each block of threads counts the
// digits of its tile, one block adds the counts up, each block puts its tile where that says, as in
// N. Satish, M. Harris and M. Garland, "Designing efficient sorting algorithms for manycore GPUs",
// IPDPS 2009. All is whole numbers, and nothing depends on who comes first.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/graph/grid/team.h"

namespace trainyard::runtime {

struct KeyTiles {
  static constexpr int threads = 256;
  static constexpr int own = 4;  // positions of a thread, one after another
  static constexpr int tile = threads * own;
  static constexpr int digit_bits = 4;
  static constexpr int digits = 1 << digit_bits;
  static constexpr int segment = 16;  // threads whose counts one thread adds up
  static constexpr int segments = threads / segment;
  static constexpr int stride = threads + segments;

  static std::int64_t count(std::int64_t positions) { return (positions + tile - 1) / tile; }
  // A thread's column of the counts: threads that add up segments read other banks each.
  static TRAINYARD_BOTH int place(int thread) { return thread + thread / segment; }
};

// What one pass reads.
struct KeyDigits {
  const std::int32_t* keys = nullptr;
  const std::int32_t* order = nullptr;  // the positions until now; null: as they stand
  std::int64_t count = 0;
  int shift = 0;

  [[nodiscard]] TRAINYARD_BOTH std::int32_t position(std::int64_t i) const {
    return order == nullptr ? static_cast<std::int32_t>(i) : order[i];
  }
  [[nodiscard]] TRAINYARD_BOTH int digit(std::int32_t position) const {
    return (keys[position] >> shift) & (KeyTiles::digits - 1);
  }
};

struct KeyCounts {
  std::int32_t counts[KeyTiles::digits][KeyTiles::stride];  // of each thread, then of those before
  std::int32_t totals[KeyTiles::digits][KeyTiles::segments];
};

TRAINYARD_BOTH inline void count_own_digits(const KeyDigits& read, std::int64_t block, int thread,
                                            KeyCounts& shared) {
  const int place = KeyTiles::place(thread);
  for (int digit = 0; digit < KeyTiles::digits; ++digit) shared.counts[digit][place] = 0;
  const std::int64_t first = block * KeyTiles::tile + std::int64_t{thread} * KeyTiles::own;
  for (int i = 0; i < KeyTiles::own && first + i < read.count; ++i) {
    ++shared.counts[read.digit(read.position(first + i))][place];
  }
}

TRAINYARD_BOTH inline void add_up_segment(int thread, KeyCounts& shared) {
  const int digit = thread / KeyTiles::segments;
  const int segment = thread % KeyTiles::segments;
  std::int32_t before = 0;
  for (int i = 0; i < KeyTiles::segment; ++i) {
    std::int32_t& here = shared.counts[digit][KeyTiles::place(segment * KeyTiles::segment + i)];
    const std::int32_t count = here;
    here = before;
    before += count;
  }
  shared.totals[digit][segment] = before;
}

// sums[digit * tiles + block] = how many of the tile have the digit
struct CountDigits {
  static constexpr int threads = KeyTiles::threads;
  using Shared = KeyCounts;
  struct Thread {};

  KeyDigits read;
  std::int32_t* sums = nullptr;
  std::int64_t tiles = 0;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t) const { return 3; }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread&) const {
    if (n == 0) return count_own_digits(read, block, thread, shared);
    if (n == 1) return add_up_segment(thread, shared);
    if (thread >= KeyTiles::digits) return;
    std::int32_t sum = 0;
    for (const std::int32_t total : shared.totals[thread]) sum += total;
    sums[thread * tiles + block] = sum;
  }
};

// Each of `count` numbers becomes the sum of those before it: one block's work.
struct AddUpBefore {
  static constexpr int threads = 256;
  static constexpr int group = 16;
  struct Shared {
    std::int32_t sums[threads];
    std::int32_t groups[threads / group];
  };
  struct Thread {};

  std::int32_t* numbers = nullptr;
  std::int64_t count = 0;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t) const { return 3; }

  TRAINYARD_BOTH void step(std::int64_t, std::int64_t n, int thread, Shared& shared,
                           Thread&) const {
    if (n == 1) {
      if (thread >= threads / group) return;
      std::int32_t sum = 0;
      for (int i = 0; i < group; ++i) sum += shared.sums[thread * group + i];
      shared.groups[thread] = sum;
      return;
    }
    const std::int64_t each = (count + threads - 1) / threads;
    const std::int64_t begin = thread * each;
    const std::int64_t end = begin + each < count ? begin + each : count;
    std::int32_t sum = 0;
    if (n == 0) {
      for (std::int64_t i = begin; i < end; ++i) sum += numbers[i];
      shared.sums[thread] = sum;
      return;
    }
    for (int i = 0; i < thread / group; ++i) sum += shared.groups[i];
    for (int i = thread / group * group; i < thread; ++i) sum += shared.sums[i];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t number = numbers[i];
      numbers[i] = sum;
      sum += number;
    }
  }
};

// Puts the positions of a tile where the digit's next ones belong.
struct PutByDigit {
  static constexpr int threads = KeyTiles::threads;
  using Shared = KeyCounts;
  struct Thread {};

  KeyDigits read;
  const std::int32_t* before = nullptr;  // [digits, tiles]: positions that come before the tile's
  std::int64_t tiles = 0;
  std::int32_t* to = nullptr;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t) const { return 4; }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread&) const {
    if (n == 0) return count_own_digits(read, block, thread, shared);
    if (n == 1) return add_up_segment(thread, shared);
    if (n == 2) {
      if (thread >= KeyTiles::digits) return;
      std::int32_t sum = before[thread * tiles + block];
      for (std::int32_t& total : shared.totals[thread]) {
        const std::int32_t here = total;
        total = sum;
        sum += here;
      }
      return;
    }
    const std::int64_t first = block * KeyTiles::tile + std::int64_t{thread} * KeyTiles::own;
    for (int i = 0; i < KeyTiles::own && first + i < read.count; ++i) {
      const std::int32_t position = read.position(first + i);
      const int digit = read.digit(position);
      std::int32_t& own_before = shared.counts[digit][KeyTiles::place(thread)];
      to[shared.totals[digit][thread / KeyTiles::segment] + own_before] = position;
      ++own_before;
    }
  }
};

// Whole numbers that sort_keys uses beside the two orders.
inline std::int64_t key_sums(std::int64_t positions) {
  return KeyTiles::digits * KeyTiles::count(positions);
}

// Where the order came to lie, and the other place.
struct KeyOrder {
  std::int32_t* order = nullptr;
  std::int32_t* spare = nullptr;
};

// Keys are below `keys_end`; `sums` is for key_sums(count) numbers, the others for `count`.
template <class Grid>
KeyOrder sort_keys(Grid& grid, const std::int32_t* keys, std::int64_t count, std::int64_t keys_end,
                   std::int32_t* order, std::int32_t* spare, std::int32_t* sums) {
  const std::int64_t tiles = KeyTiles::count(count);
  KeyDigits read{.keys = keys, .count = count};
  do {
    grid.blocks(tiles, CountDigits{.read = read, .sums = sums, .tiles = tiles});
    grid.blocks(1, AddUpBefore{.numbers = sums, .count = KeyTiles::digits * tiles});
    grid.blocks(tiles, PutByDigit{.read = read, .before = sums, .tiles = tiles, .to = order});
    read.order = order;
    read.shift += KeyTiles::digit_bits;
    std::swap(order, spare);
  } while (read.shift < 32 && ((keys_end - 1) >> read.shift) > 0);
  return {.order = spare, .spare = order};
}

}  // namespace trainyard::runtime
