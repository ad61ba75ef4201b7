// What a kernel counts in 32 bits: windows, pixels, channels, what becomes one largest number.
#pragma once

#include <string>

#include "runtime/graph/device.h"
#include "runtime/graph/grid/fast_division.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// A kernel may count up to a slice beyond the last one.
inline constexpr std::int64_t countable_max = fast_division_max - 64;

// Whoever asks for room is told that there are too many, before anything is computed: DeviceFailed.
inline void require_countable(std::int64_t count) {
  if (count <= countable_max) return;
  throw DeviceFailed("a GPU counts up to " + std::to_string(countable_max) +
                     " windows, pixels or channels of an op, here are " + std::to_string(count) +
                     ": smaller micro-batches have fewer");
}

// Of an image, a sequence, a kernel: its rows and its columns.
inline void require_countable(const Shape& shape) {
  require_countable(shape.rows());
  require_countable(shape.columns());
}

}  // namespace trainyard::runtime
