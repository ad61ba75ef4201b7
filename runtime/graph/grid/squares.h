// Squares of a gradient on a grid: an index is a register, which adds up every n-th line. Exact
// sums of integers, so how many there are changes no bit.
#pragma once

#include "runtime/core/exact_register.h"
#include "runtime/graph/device.h"
#include "runtime/math/elements/squares.h"

namespace trainyard::runtime {

struct SquaresOfLines {
  std::uint64_t* registers;
  const float* from;
  std::int64_t count;

  TRAINYARD_BOTH void operator()(std::int64_t number) const {
    std::uint64_t* const own = registers + number * ExactRegister::words;
    std::uint64_t sum[ExactRegister::words];
    for (int word = 0; word < ExactRegister::words; ++word) sum[word] = own[word];
    for (std::int64_t at = number * squares_line; at < count;
         at += square_registers * squares_line) {
      const std::int64_t left = count - at;
      ExactRegister::add(sum,
                         squares_of_line(from + at, left < squares_line ? left : squares_line));
    }
    for (int word = 0; word < ExactRegister::words; ++word) own[word] = sum[word];
  }
};

template <class Grid>
void add_squares_on(Grid& grid, std::uint64_t* registers, const float* from, std::int64_t count) {
  const std::int64_t lines = (count + squares_line - 1) / squares_line;
  grid.each(lines < square_registers ? lines : square_registers,
            SquaresOfLines{.registers = registers, .from = from, .count = count});
}

}  // namespace trainyard::runtime
