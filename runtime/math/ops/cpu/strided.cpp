// Runs where both sides have their elements side by side, squares of eight where one of them has
// rows where the other has columns.
#include "runtime/math/ops/cpu/strided.h"

#include <algorithm>

#include "runtime/math/ops/cpu/transpose.h"

namespace trainyard::runtime {
namespace {

void put_moved(float value, float& place, Write write) {
  place = write == Write::add ? place + value : value;
}

struct Steps {
  std::int64_t from = 1;
  std::int64_t to = 1;
};

void copy_run(const float* from, float* to, Steps steps, std::int64_t count, Write write) {
  const bool is_dense = steps.from == 1 && steps.to == 1;
  if (is_dense && write == Write::overwrite) {
    std::copy_n(from, count, to);
  } else if (is_dense) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      put_moved(from[i * steps.from], to[i * steps.to], write);
  }
}

// to [rows, columns] of which element (i, j) is from[j * from_stride + i].
struct Turned {
  const float* from = nullptr;
  std::int64_t from_stride = 0;
  float* to = nullptr;
  std::int64_t to_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Write write = Write::overwrite;
};

constexpr std::int64_t side = 8;

void copy_square(const Turned& turned, std::int64_t row, std::int64_t column) {
  Square square;
  for (std::int64_t i = 0; i < side; ++i) {
    square.row[i] = _mm256_loadu_ps(turned.from + (column + i) * turned.from_stride + row);
  }
  square = transposed(square);
  for (std::int64_t i = 0; i < side; ++i) {
    float* const to = turned.to + (row + i) * turned.to_stride + column;
    const __m256 value = turned.write == Write::add
                             ? _mm256_add_ps(_mm256_loadu_ps(to), square.row[i])
                             : square.row[i];
    _mm256_storeu_ps(to, value);
  }
}

void copy_rest(const Turned& turned, std::int64_t row, std::int64_t column) {
  for (std::int64_t i = row; i < std::min(row + side, turned.rows); ++i) {
    for (std::int64_t j = column; j < std::min(column + side, turned.columns); ++j) {
      put_moved(turned.from[j * turned.from_stride + i], turned.to[i * turned.to_stride + j],
                turned.write);
    }
  }
}

void copy_turned(const Turned& turned) {
  for (std::int64_t row = 0; row < turned.rows; row += side) {
    for (std::int64_t column = 0; column < turned.columns; column += side) {
      const bool is_whole = row + side <= turned.rows && column + side <= turned.columns;
      if (is_whole) {
        copy_square(turned, row, column);
      } else {
        copy_rest(turned, row, column);
      }
    }
  }
}

}  // namespace

void strided_copy(CopyLoops loops, const float* from, float* to, Write write) {
  if (loops.rank() == 0) return put_moved(*from, *to, write);
  const std::size_t last = loops.rank() - 1;
  const std::int64_t columns = loops.size(last);
  const Steps steps{loops.strides(last)[0], loops.strides(last)[1]};
  // The axis along which `from` has its elements side by side, where that is not the last.
  std::size_t turned = last;
  for (std::size_t axis = 0; axis < last && steps.from > 1 && steps.to == 1; ++axis) {
    if (loops.strides(axis)[0] == 1) turned = axis;
  }
  if (turned == last) {
    loops.for_each(
        1, [&](const auto& at) { copy_run(from + at[0], to + at[1], steps, columns, write); });
    return;
  }
  loops.swap(turned, last - 1);
  loops.for_each(2, [&](const auto& at) {
    copy_turned({.from = from + at[0],
                 .from_stride = steps.from,
                 .to = to + at[1],
                 .to_stride = loops.strides(last - 1)[1],
                 .rows = loops.size(last - 1),
                 .columns = columns,
                 .write = write});
  });
}

}  // namespace trainyard::runtime
