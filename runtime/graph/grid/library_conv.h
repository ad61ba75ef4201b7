// How convolutions of a grid go to a library (conv_library.h). Where there is none, or it does not
// take one, the grid's own kernels convolve.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/graph/grid/conv_library.h"
#include "runtime/graph/grid/libraries.h"
#include "runtime/graph/kernels.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct ConvSizes {
  std::int64_t x;
  std::int64_t kernel;
  std::int64_t y;
};
inline ConvSizes sizes_of(const Conv2d& conv, std::int64_t examples) {
  return {.x = examples * conv.window.pixels() * conv.channels,
          .kernel = conv.depth() * conv.filters,
          .y = examples * conv.window.outputs() * conv.filters};
}

// Elements of scratch with what the library reads and writes and what does not lie so in memory. 0:
// no library convolves it.
template <class Grid>
std::int64_t library_scratch(const Grid& grid, const Conv2d& conv, std::int64_t examples) {
  ConvLibrary* const library = grid.libraries().convolutions;
  if (library == nullptr || !library->is_for(conv, examples)) return 0;
  const ConvSizes sizes = sizes_of(conv, examples);
  if (grid.precision() == Precision::tf32) return sizes.kernel;
  const std::int64_t rounded =
      (in_eights(sizes.kernel) + in_eights(sizes.x) + in_eights(sizes.y)) / 2;
  return std::max(rounded, sizes.kernel);
}

TRAINYARD_BOTH inline float to_library(float number, float) { return number; }
TRAINYARD_BOTH inline std::uint16_t to_library(float number, std::uint16_t) {
  return to_bfloat16(number);
}
TRAINYARD_BOTH inline float from_library(float number) { return number; }
TRAINYARD_BOTH inline float from_library(std::uint16_t number) { return from_bfloat16(number); }

// A kernel [taps, channels, filters] as [filters, taps, channels].
template <class Number, class Grid>
void lay_by_filters(Grid& grid, const Conv2d& conv, const float* from, Number* to) {
  const std::int64_t depth = conv.depth();
  const std::int64_t filters = conv.filters;
  grid.each(depth * filters, [=] TRAINYARD_KERNEL(std::int64_t i) {
    to[i] = to_library(from[i % depth * filters + i / depth], Number{});
  });
}

// And back.
template <class Number, class Grid>
void lay_by_taps(Grid& grid, const Conv2d& conv, const Number* from, float* to, Write write) {
  const std::int64_t depth = conv.depth();
  const std::int64_t filters = conv.filters;
  grid.each(depth * filters, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float number = from_library(from[i % filters * depth + i / filters]);
    to[i] = write == Write::add ? to[i] + number : number;
  });
}

template <class Number, class Grid>
void round_numbers(Grid& grid, const float* from, std::int64_t count, Number* to) {
  grid.each(count, [=] TRAINYARD_KERNEL(std::int64_t i) { to[i] = to_library(from[i], Number{}); });
}

// `bias`: of the last axis, as many as `filters`; null: none.
template <class Number, class Grid>
void widen_numbers(Grid& grid, const Number* from, std::int64_t count, float* to, Write write,
                   const float* bias, std::int64_t filters) {
  grid.each(count, [=] TRAINYARD_KERNEL(std::int64_t i) {
    float number = from_library(from[i]);
    if (bias != nullptr) number += bias[i % filters];
    to[i] = write == Write::add ? to[i] + number : number;
  });
}

template <class Grid>
void spread_bias(Grid& grid, const float* bias, std::int64_t filters, float* y,
                 std::int64_t count) {
  grid.each(count, [=] TRAINYARD_KERNEL(std::int64_t i) { y[i] = bias[i % filters]; });
}

// One pass on a library whose numbers are of this type: bfloat16, rounded into scratch; or float,
// which tensor cores read as tf32 where it lies, but for the kernel.
template <class Grid, class Number>
class ConvOnLibrary {
 public:
  ConvOnLibrary(Grid& grid, const Conv2d& conv, std::int64_t examples, Tensor scratch)
      : grid_(grid),
        conv_(conv),
        examples_(examples),
        sizes_(sizes_of(conv, examples)),
        kernel_(reinterpret_cast<Number*>(scratch.data)),
        x_(kernel_ + in_eights(sizes_.kernel)),
        y_(x_ + in_eights(sizes_.x)) {}

  void forward(const ForwardCall& call) {
    const float* const bias = call.inputs.size() == 3 ? call.inputs[2].data : nullptr;
    float* const y = call.output.data;
    const bool has_spread = !is_rounded && bias != nullptr;
    if (has_spread) spread_bias(grid_, bias, conv_.filters, y, sizes_.y);
    lay_by_filters(grid_, conv_, call.inputs[1].data, kernel_);
    convolve(ConvPass::forward, {read(call.inputs[0].data, x_, sizes_.x), kernel_, written(y, y_)},
             has_spread ? Write::add : Write::overwrite);
    if (is_rounded) {
      widen_numbers(grid_, y_, sizes_.y, y, Write::overwrite, bias, conv_.filters);
    }
  }

  void x_gradient(const BackwardCall& call) {
    const GradientTarget& x = call.input_gradients[0];
    lay_by_filters(grid_, conv_, call.inputs[1].data, kernel_);
    convolve(ConvPass::x_gradient,
             {written(x.into.data, x_), kernel_, read(call.output_gradient.data, y_, sizes_.y)},
             is_rounded ? Write::overwrite : x.write);
    if (is_rounded) {
      widen_numbers(grid_, x_, sizes_.x, x.into.data, x.write, nullptr, conv_.channels);
    }
  }

  void kernel_gradient(const BackwardCall& call) {
    const GradientTarget& kernel = call.input_gradients[1];
    convolve(ConvPass::kernel_gradient,
             {read(call.inputs[0].data, x_, sizes_.x), kernel_,
              read(call.output_gradient.data, y_, sizes_.y)},
             Write::overwrite);
    lay_by_taps(grid_, conv_, kernel_, kernel.into.data, kernel.write);
  }

 private:
  static constexpr bool is_rounded = std::is_same_v<Number, std::uint16_t>;

  void convolve(ConvPass pass, const LibraryImages& images, Write write) {
    const LibraryConv of{.conv = conv_, .examples = examples_, .pass = pass};
    grid_.libraries().convolutions->convolve(of, images, write);
  }

  void* read(const float* from, Number* room, std::int64_t count) {
    if (!is_rounded) return const_cast<float*>(from);  // nobody writes to it
    round_numbers(grid_, from, count, room);
    return room;
  }
  static void* written(float* to, Number* room) {
    if (!is_rounded) return to;
    return room;
  }

  Grid& grid_;
  const Conv2d& conv_;
  std::int64_t examples_;
  ConvSizes sizes_;
  Number* kernel_;
  Number* x_;
  Number* y_;
};

// Whether a library computes such a pass: then `work` is done, with a ConvOnLibrary.
template <class Grid, class Work>
bool convolve_by_library(Grid& grid, const LibraryConv& of, Tensor scratch, const Work& work) {
  const std::int64_t needed = library_scratch(grid, of.conv, of.examples);
  if (needed == 0 || scratch.data == nullptr || scratch.elements() < needed) return false;
  if (!grid.libraries().convolutions->takes(of)) return false;
  if (are_rounded(grid.precision(), of.pass)) {
    work(ConvOnLibrary<Grid, std::uint16_t>(grid, of.conv, of.examples, scratch));
  } else {
    work(ConvOnLibrary<Grid, float>(grid, of.conv, of.examples, scratch));
  }
  return true;
}

}  // namespace trainyard::runtime
