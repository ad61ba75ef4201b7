// Dropout (Srivastava and others 2014): some elements become zero, the others grow by as much. What
// is dropped is a function of the seed, the layer and where an example lies in the endless line of
// examples: nothing is kept for the backward pass, and it makes no difference how the line is
// divided among batches and workers.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Element i of the example at position p is kept where word n % 4 of block n / 4 of the generator
// (seed, RngStream::dropout, layer) is rate * 2^32 or more, with n = p * elements of an example +
// i. What is kept is multiplied by 1 / (1 - rate), all else by 0: NaN stays.
struct Dropout {
  std::uint64_t seed = 0;
  std::uint32_t layer = 0;           // a number of its own for each dropout of a model
  double rate = 0;                   // in [0, 1)
  std::uint64_t first_position = 0;  // of the batch's first example
  // "Elements of an example" above where x has but the first ones of each; 0: as many as x has.
  std::uint64_t stride = 0;
};

// What elements `first`, `first` + 1, .. of the endless line of elements are multiplied by.
void dropout_factors(const Dropout& dropout, std::uint64_t first, std::span<float> factors);

// x [examples, ..]; y may be x.
void drop_out(const Dropout& dropout, ConstTensor x, Tensor y);

// x_gradient may be y_gradient.
void drop_out_gradient(const Dropout& dropout, ConstTensor y_gradient, Tensor x_gradient,
                       Write write);

}  // namespace trainyard::runtime
