// How kernels of a GPU are written so that a CPU runs them too, one thread after another: what a
// test can see without a GPU.
//
// A kernel is a function of an index. A grid (HostGrid, CudaGrid) calls it for all of them, in any
// order and at once:
//   grid.each(count, [=] TRAINYARD_KERNEL(std::int64_t i) { .. });
//   grid.teams(count, [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) { .. });
// A team has sixteen threads that work on one index together; what each of them computes for an
// element, it alone reads until team.wait(). Numbers and pointers are taken by value, since the
// kernel may run after the call has returned.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

inline constexpr int team_lanes = 16;  // those of fold() (ops/cpu/fold.h), whose bits these are

// A team of one thread, which does the work of all.
class SerialTeam {
 public:
  // function(i) for each i below count; thread i % 16 has it.
  template <class Function>
  TRAINYARD_BOTH void each(std::int64_t count, const Function& function) const {
    for (std::int64_t i = 0; i < count; ++i) function(i);
  }

  // value_of(i) for each i below count, combined as fold() does; all threads have the result.
  template <class Number, class ValueOf, class Combine>
  TRAINYARD_BOTH Number fold(std::int64_t count, Number start, const ValueOf& value_of,
                             const Combine& combine) const {
    Number lanes[team_lanes];
    for (Number& lane : lanes) lane = start;
    for (std::int64_t i = 0; i < count; ++i) {
      Number& lane = lanes[i % team_lanes];
      lane = combine(lane, value_of(i));
    }
    for (int width = team_lanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        lanes[lane] = combine(lanes[lane], lanes[lane + width]);
      }
    }
    return lanes[0];
  }

  template <class ValueOf>
  TRAINYARD_BOTH float sum(std::int64_t count, const ValueOf& value_of) const {
    return fold(count, 0.0F, value_of, [](float a, float b) { return a + b; });
  }

  // Whether this thread is the one that stores what the team has one of.
  [[nodiscard]] TRAINYARD_BOTH bool is_first() const { return true; }

  // What any thread of the team has stored before, all of them read after.
  TRAINYARD_BOTH void wait() const {}
};

}  // namespace trainyard::runtime
