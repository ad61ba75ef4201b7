// What a place in a sequence does to its features: learned numbers are added, or pairs of features
// are rotated.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// y = x [examples, time, features] + table [length, features], whose rows beyond `time` nobody
// reads; y may be x.
void add_places(ConstTensor x, ConstTensor table, Tensor y, const Threads& threads = {});
// table_gradient = the sum over the examples, in the order of sum_rows; Write::add: that much more.
void add_places_gradient(ConstTensor y_gradient, Tensor table_gradient, Write write,
                         const Threads& threads = {});

// Rotary embedding (Su and others 2021): at place t features 2 i and 2 i + 1 of each head are
// turned by t theta^(-2 i / features of a head) radians. Angles are worked out in double.
struct Rotation {
  std::int64_t heads = 1;  // features are a multiple of 2 heads
  double theta = 10000;
};
std::int64_t rotation_scratch(const Rotation& rotation, std::int64_t time, std::int64_t features);
// y may be x [examples, time, features].
void rotate(const Rotation& rotation, ConstTensor x, Tensor y, std::span<float> scratch,
            const Threads& threads = {});
// By the same angles backwards; x_gradient may be y_gradient.
void rotate_gradient(const Rotation& rotation, ConstTensor y_gradient, Tensor x_gradient,
                     Write write, std::span<float> scratch, const Threads& threads = {});

}  // namespace trainyard::runtime
