// How the ten digits are written: pen strokes as chains of quadratic curves on a unit square, in
// two or three hands each.
#pragma once

#include <cstddef>
#include <span>

namespace trainyard::runtime {

struct Point {
  float x = 0;  // to the right, 0 .. 1
  float y = 0;  // down, 0 .. 1
};

// From `from` to `to`, bent towards `bend` (which is the middle for a straight line).
struct Curve {
  Point from;
  Point bend;
  Point to;
};

using Glyph = std::span<const Curve>;

// The hands (variants) in which a digit is written.
std::span<const Glyph> glyphs_of(std::size_t digit);

}  // namespace trainyard::runtime
