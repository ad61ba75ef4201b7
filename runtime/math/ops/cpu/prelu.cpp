#include "runtime/math/ops/prelu.h"

#include "runtime/math/avx512.h"
#include "runtime/math/elements/prelu.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr double prelu_nanoseconds = 0.3;  // of a number

// Calls visit(row) for all rows of x.
template <class Visit>
void for_each_prelu_row(const Threads& threads, const Shape& x, Visit visit) {
  const Items rows{.count = x.rows(),
                   .nanoseconds_each = prelu_nanoseconds * static_cast<double>(x.columns())};
  threads.split(rows, [&](const Part& part) {
    by_vectors([&] {
      for (std::int64_t row = part.begin; row < part.end; ++row) visit(row);
    });
  });
}

void sum_slope_gradients(const PreluGradient& call) {
  const std::int64_t channels = call.x.shape.columns();
  const std::int64_t rows = call.x.shape.rows();
  const auto of_strip = [&](std::int64_t first, std::int64_t width, const Threads& threads) {
    const SharedRows shared{threads, rows, prelu_nanoseconds * static_cast<double>(width)};
    const auto sums = sum_of_rows<1>(shared, [&](std::int64_t row, RowSums<1>& to) {
      const float* const x = call.x.data + row * channels + first;
      const float* const dy = call.y_gradient.data + row * channels + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) {
        to[0][static_cast<std::size_t>(i)] += prelu_slope_gradient(x[i], dy[i]);
      }
    });
    store_sums_of(sums[0].data(), first, width, call.slope_gradient, call.slope_write);
  };
  share_column_strips(call.threads, channels, prelu_nanoseconds * static_cast<double>(rows),
                      of_strip);
}

}  // namespace

void prelu(ConstTensor x, ConstTensor slope, Tensor y, const Threads& threads) {
  const std::int64_t channels = x.shape.columns();
  ENSURE(x.shape == y.shape && slope.elements() == channels);
  for_each_prelu_row(threads, x.shape, [&](std::int64_t row) {
    const float* const from = x.data + row * channels;
    const float* const slopes = slope.data;
    float* const to = y.data + row * channels;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < channels; ++i) to[i] = prelu_of(from[i], slopes[i]);
  });
}

// The slopes first: x's gradient may lie where y's does.
void prelu_gradient(const PreluGradient& call) {
  const std::int64_t channels = call.x.shape.columns();
  ENSURE(call.x.shape == call.y_gradient.shape && call.slope.elements() == channels);
  if (call.slope_gradient.data != nullptr) {
    ENSURE(call.slope_gradient.elements() == channels);
    sum_slope_gradients(call);
  }
  if (call.x_gradient.data == nullptr) return;
  ENSURE(call.x.shape == call.x_gradient.shape);
  for_each_prelu_row(call.threads, call.x.shape, [&](std::int64_t row) {
    const float* const x = call.x.data + row * channels;
    const float* const dy = call.y_gradient.data + row * channels;
    const float* const slopes = call.slope.data;
    float* const dx = call.x_gradient.data + row * channels;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < channels; ++i) {
      const float value = prelu_x_gradient(x[i], slopes[i], dy[i]);
      dx[i] = call.x_write == Write::add ? dx[i] + value : value;
    }
  });
}

}  // namespace trainyard::runtime
