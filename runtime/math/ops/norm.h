// Normalisations over the last axes' numbers: y = (x - mean) / sqrt(variance + epsilon) * scale +
// offset, with variances that divide by the number of values. A scale or an offset without data is
// 1 or 0; a gradient without data is not wanted. Sums over rows are sum_rows', those within a row
// have sixteen lanes as sum() has: the same bits everywhere.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/math/ops/finish.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

struct Scaling {
  ConstTensor scale;   // [channels]
  ConstTensor offset;  // [channels]
};

struct ScalingGradients {
  Tensor scale;
  Tensor offset;
  Write write = Write::overwrite;
};

// Batch norm (Ioffe and Szegedy 2015): x [.., channels], each channel by its mean and variance over
// all rows.
struct BatchNormForward {
  ConstTensor x;
  Scaling scaling;
  float epsilon = 1e-5F;
  Finish finish = Finish::as_it_is;
  Tensor y;         // x's shape; may be x where nothing needs x any more
  Tensor mean;      // [channels], of x: kept for the gradient and for the state
  Tensor variance;  // [channels]
  Threads threads = {};
};
void batch_norm(const BatchNormForward& call);

struct BatchNormGradient {
  ConstTensor x;
  ConstTensor scale;
  float epsilon = 1e-5F;
  ConstTensor mean;
  ConstTensor variance;
  ConstTensor y_gradient;  // before the finish
  Tensor x_gradient;       // may be y_gradient
  Write write = Write::overwrite;
  ScalingGradients scaling;
  Threads threads = {};
};
void batch_norm_gradient(const BatchNormGradient& call);

// What a batch adds to the sums that running averages are made of: examples * mean and examples *
// the unbiased variance. `rows`: how many values of a channel the batch had; of one alone the
// variance is 0.
struct BatchNormState {
  std::int64_t examples = 0;
  std::int64_t rows = 0;
  ConstTensor mean;
  ConstTensor variance;
  Tensor mean_sum;      // [channels]
  Tensor variance_sum;  // [channels]
  Write write = Write::overwrite;
};
void batch_norm_state(const BatchNormState& call);

// With a mean and a variance that are given, as in evaluation.
struct FixedNorm {
  ConstTensor x;
  Scaling scaling;
  float epsilon = 1e-5F;
  Finish finish = Finish::as_it_is;
  ConstTensor mean;
  ConstTensor variance;
  Tensor y;  // may be x
  Threads threads = {};
};
void fixed_norm(const FixedNorm& call);

// Layer norm (Ba, Kiros and Hinton 2016): each row of x [.., channels] by its own mean and
// variance. RMS norm (Zhang and Sennrich 2019): the mean is taken for 0, there is no offset, and
// `mean` has no data.
struct RowNormForward {
  ConstTensor x;
  Scaling scaling;
  float epsilon = 1e-5F;
  Tensor y;        // x's shape; may be x where nothing needs x any more
  Tensor mean;     // [rows]
  Tensor inverse;  // [rows]: 1 / sqrt(variance + epsilon)
  Threads threads = {};
};
void layer_norm(const RowNormForward& call);
void rms_norm(const RowNormForward& call);

struct RowNormGradient {
  ConstTensor x;
  ConstTensor scale;
  ConstTensor mean;
  ConstTensor inverse;
  ConstTensor y_gradient;
  Tensor x_gradient;  // may be y_gradient
  Write write = Write::overwrite;
  ScalingGradients scaling;
  Threads threads = {};
};
void layer_norm_gradient(const RowNormGradient& call);
void rms_norm_gradient(const RowNormGradient& call);

// Group norm (Wu and He 2018): x [examples, .., channels], the channels of each of an example's
// `groups` together over its pixels: columns are summed over pixels, then a group's columns as a
// row. mean, inverse: [examples, groups]. Threads share the examples.
std::size_t group_norm_scratch_bytes(std::int64_t channels, std::int64_t threads = 1);
void group_norm(std::int64_t groups, const RowNormForward& call, std::span<std::byte> scratch);
void group_norm_gradient(std::int64_t groups, const RowNormGradient& call,
                         std::span<std::byte> scratch);

}  // namespace trainyard::runtime
