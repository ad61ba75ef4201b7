// Layer norm and RMS norm: a row of x is read three times while it is in the nearest cache.
#include <cmath>

#include "runtime/math/avx512.h"
#include "runtime/math/elements/norm.h"
#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/norm_scaling.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "runtime/math/ops/norm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

enum class Centre { mean, zero };

constexpr double layer_norm_nanoseconds = 0.5;  // of a number

// Calls visit(row) for all rows of x.
template <class Visit>
void share_rows(const Threads& threads, const Shape& x, Visit visit) {
  const Items rows{.count = x.rows(),
                   .nanoseconds_each = layer_norm_nanoseconds * static_cast<double>(x.columns())};
  threads.split(rows, [&](const Part& part) {
    by_vectors([&] {
      for (std::int64_t row = part.begin; row < part.end; ++row) visit(row);
    });
  });
}

void normalize_rows(const RowNormForward& call, Centre centre) {
  const std::int64_t columns = call.x.shape.columns();
  const std::int64_t rows = call.x.shape.rows();
  ENSURE(call.x.shape == call.y.shape && call.inverse.elements() == rows && columns > 0);
  ENSURE(centre == Centre::zero || call.mean.elements() == rows);
  const auto count = static_cast<float>(columns);
  share_rows(call.threads, call.x.shape, [&](std::int64_t row) {
    const float* const x = call.x.data + row * columns;
    float* const y = call.y.data + row * columns;
    float mean = 0;
    if (centre == Centre::mean) {
      mean = fold_sum(columns, [&](std::int64_t i) { return x[i]; }) / count;
      call.mean.data[row] = mean;
    }
    const float squares = fold_sum(columns, [&](std::int64_t i) {
      const float distance = x[i] - mean;
      return distance * distance;
    });
    const float inverse = 1.0F / std::sqrt(squares / count + call.epsilon);
    call.inverse.data[row] = inverse;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) {
      y[i] = scaled(xhat_of(x[i], mean, inverse), scale_at(call.scaling.scale, i),
                    offset_at(call.scaling.offset, i));
    }
  });
}

void scaling_gradients(const RowNormGradient& call) {
  if (call.scaling.scale.data == nullptr && call.scaling.offset.data == nullptr) return;
  const std::int64_t columns = call.x.shape.columns();
  const std::int64_t rows = call.x.shape.rows();
  const auto of_strip = [&](std::int64_t first, std::int64_t width, const Threads& threads) {
    const SharedRows shared{threads, rows, layer_norm_nanoseconds * static_cast<double>(width)};
    const auto sums = sum_of_rows<2>(shared, [&](std::int64_t row, RowSums<2>& to) {
      const float* const x = call.x.data + row * columns + first;
      const float* const dy = call.y_gradient.data + row * columns + first;
      const float mean = call.mean.data == nullptr ? 0.0F : call.mean.data[row];
      const float inverse = call.inverse.data[row];
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) {
        const auto at = static_cast<std::size_t>(i);
        to[0][at] += dy[i];
        to[1][at] += dy[i] * xhat_of(x[i], mean, inverse);
      }
    });
    store_sums_of(sums[0].data(), first, width, call.scaling.offset, call.scaling.write);
    store_sums_of(sums[1].data(), first, width, call.scaling.scale, call.scaling.write);
  };
  share_column_strips(call.threads, columns, layer_norm_nanoseconds * static_cast<double>(rows),
                      of_strip);
}

// gradient_at(column): towards the normalized x.
template <class GradientAt>
void row_gradient(const RowNormGradient& call, Centre centre, std::int64_t row,
                  GradientAt gradient_at) {
  const std::int64_t columns = call.x.shape.columns();
  const auto count = static_cast<float>(columns);
  const float* const x = call.x.data + row * columns;
  float* const dx = call.x_gradient.data + row * columns;
  const float mean = centre == Centre::zero ? 0.0F : call.mean.data[row];
  const float inverse = call.inverse.data[row];
  const auto xhat_at = [=](std::int64_t i) { return xhat_of(x[i], mean, inverse); };
  const float dy_mean = centre == Centre::zero ? 0.0F : fold_sum(columns, gradient_at) / count;
  const float xhat_mean =
      fold_sum(columns, [=](std::int64_t i) { return gradient_at(i) * xhat_at(i); }) / count;
  const bool adds = call.write == Write::add;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < columns; ++i) {
    const float value = norm_x_gradient(inverse, gradient_at(i), dy_mean, xhat_at(i), xhat_mean);
    dx[i] = adds ? dx[i] + value : value;
  }
}

void rows_gradient(const RowNormGradient& call, Centre centre) {
  const std::int64_t columns = call.x.shape.columns();
  const std::int64_t rows = call.x.shape.rows();
  ENSURE(call.x.shape == call.y_gradient.shape && call.inverse.elements() == rows);
  ENSURE((centre == Centre::zero) == (call.mean.data == nullptr));
  scaling_gradients(call);
  if (call.x_gradient.data == nullptr) return;
  ENSURE(call.x.shape == call.x_gradient.shape);
  share_rows(call.threads, call.x.shape, [&](std::int64_t row) {
    const float* const dy = call.y_gradient.data + row * columns;
    const float* const scale = call.scale.data;
    if (scale == nullptr) {
      row_gradient(call, centre, row, [=](std::int64_t i) { return dy[i]; });
    } else {
      row_gradient(call, centre, row, [=](std::int64_t i) { return dy[i] * scale[i]; });
    }
  });
}

}  // namespace

void layer_norm(const RowNormForward& call) { normalize_rows(call, Centre::mean); }

void rms_norm(const RowNormForward& call) {
  ENSURE(call.mean.data == nullptr && call.scaling.offset.data == nullptr);
  normalize_rows(call, Centre::zero);
}

void layer_norm_gradient(const RowNormGradient& call) { rows_gradient(call, Centre::mean); }

void rms_norm_gradient(const RowNormGradient& call) {
  ENSURE(call.scaling.offset.data == nullptr);
  rows_gradient(call, Centre::zero);
}

}  // namespace trainyard::runtime
