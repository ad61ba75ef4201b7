// Convolutions and pools of images [height, width, channels]. A window says the sizes of the image
// that it goes over: they are x's.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/window.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Inputs: x, kernel [kernel height, kernel width, channels, filters], and perhaps bias [filters]
// -> [output height, output width, filters]. The kernel of height 1 may be [kernel width, channels,
// filters]: that of a sequence.
struct Conv2dOp {
  Window window;
};

// Each channel by kernels of its own. Inputs: x, kernel [kernel height, kernel width, channels,
// multiplier], and perhaps bias [channels * multiplier] -> [output height, output width, channels *
// multiplier], the outputs of one channel beside one another.
struct DepthwiseConv2dOp {
  Window window;
};

// The first of the largest values of each window; max_pool_taps_max taps at most. Every window
// meets the image.
struct MaxPool2dOp {
  Window window;
};

// The mean of each window, padding not counted. Every window meets the image.
struct AvgPool2dOp {
  Window window;
};

// [.., channels] -> [channels]: the mean over all places.
struct GlobalAvgPoolOp {};

OpTraits traits_of(const Conv2dOp& op);
OpTraits traits_of(const DepthwiseConv2dOp& op);
OpTraits traits_of(const MaxPool2dOp& op);
OpTraits traits_of(const AvgPool2dOp& op);
OpTraits traits_of(const GlobalAvgPoolOp& op);

Shape shape_of(const Conv2dOp& op, std::span<const Shape> inputs);
Shape shape_of(const DepthwiseConv2dOp& op, std::span<const Shape> inputs);
Shape shape_of(const MaxPool2dOp& op, std::span<const Shape> inputs);
Shape shape_of(const AvgPool2dOp& op, std::span<const Shape> inputs);
Shape shape_of(const GlobalAvgPoolOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
