#include "runtime/math/ops/row_function.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/core/portable_math.h"
#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/exp_shifted.h"
#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/vector_math.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t piece = 256;  // of a row, where room for its exponentials is needed

// to[i] = value(i), or that much more.
template <class Value>
void store_row(float* to, std::int64_t columns, Write write, Value value) {
  if (write == Write::add) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) to[i] += value(i);
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) to[i] = value(i);
  }
}

// row(first element) of each row.
template <class Row>
void for_each_row(const Shape& shape, Row row) {
  ENSURE(shape.rank() > 0 && shape.columns() > 0);
  by_vectors([&] {
    for (std::int64_t i = 0; i < shape.rows(); ++i) row(i * shape.columns());
  });
}

}  // namespace

void softmax(ConstTensor x, Tensor y) {
  ENSURE(x.shape == y.shape);
  const std::int64_t columns = x.shape.columns();
  for_each_row(x.shape, [&](std::int64_t first) {
    const float* const from = x.data + first;
    float* const to = y.data + first;
    exp_shifted(from, fold_maximum(from, columns), to, columns);
    const float inverse = 1.0F / fold_sum(columns, [=](std::int64_t i) { return to[i]; });
    store_row(to, columns, Write::overwrite, [=](std::int64_t i) { return to[i] * inverse; });
  });
}

void softmax_gradient(ConstTensor y, ConstTensor y_gradient, Tensor x_gradient, Write write) {
  ENSURE(y.shape == y_gradient.shape && y.shape == x_gradient.shape);
  const std::int64_t columns = y.shape.columns();
  for_each_row(y.shape, [&](std::int64_t first) {
    const float* const at = y.data + first;
    const float* const upstream = y_gradient.data + first;
    const float sum = fold_sum(columns, [=](std::int64_t i) { return at[i] * upstream[i]; });
    store_row(x_gradient.data + first, columns, write,
              [=](std::int64_t i) { return at[i] * (upstream[i] - sum); });
  });
}

void log_softmax(ConstTensor x, Tensor y) {
  ENSURE(x.shape == y.shape);
  const std::int64_t columns = x.shape.columns();
  for_each_row(x.shape, [&](std::int64_t first) {
    const float* const from = x.data + first;
    const float largest = fold_maximum(from, columns);
    const float total =
        fold_sum(columns, [=](std::int64_t i) { return exp_float(from[i] - largest); });
    const auto log_total = static_cast<float>(portable_log(static_cast<double>(total)));
    store_row(y.data + first, columns, Write::overwrite,
              [=](std::int64_t i) { return (from[i] - largest) - log_total; });
  });
}

void log_softmax_gradient(ConstTensor y, ConstTensor y_gradient, Tensor x_gradient, Write write) {
  ENSURE(y.shape == y_gradient.shape && y.shape == x_gradient.shape);
  const std::int64_t columns = y.shape.columns();
  for_each_row(y.shape, [&](std::int64_t first) {
    const float* const at = y.data + first;
    const float* const upstream = y_gradient.data + first;
    const float sum = fold_sum(columns, [=](std::int64_t i) { return upstream[i]; });
    for (std::int64_t begin = 0; begin < columns; begin += piece) {
      const std::int64_t count = std::min(piece, columns - begin);
      std::array<float, piece> probabilities;  // NOLINT: written before it is read
      exp_shifted(at + begin, 0.0F, probabilities.data(), count);
      store_row(x_gradient.data + first + begin, count, write, [&](std::int64_t i) {
        return upstream[begin + i] - probabilities[static_cast<std::size_t>(i)] * sum;
      });
    }
  });
}

void l2_normalize(ConstTensor x, Tensor y, Tensor norms) {
  ENSURE(x.shape == y.shape && norms.elements() == x.shape.rows());
  const std::int64_t columns = x.shape.columns();
  for_each_row(x.shape, [&](std::int64_t first) {
    const float* const from = x.data + first;
    const float norm =
        std::sqrt(fold_sum(columns, [=](std::int64_t i) { return from[i] * from[i]; }));
    norms.data[first / columns] = norm;
    const float divisor = norm < l2_norm_least ? l2_norm_least : norm;
    store_row(y.data + first, columns, Write::overwrite,
              [=](std::int64_t i) { return from[i] / divisor; });
  });
}

// (y_gradient - y (sum of y y_gradient)) / norm; below the least norm y is linear in x.
void l2_normalize_gradient(const L2NormalizeGradient& call) {
  const Shape& shape = call.x.shape;
  ENSURE(shape == call.y_gradient.shape && shape == call.x_gradient.shape);
  ENSURE(call.norms.elements() == shape.rows());
  const std::int64_t columns = shape.columns();
  for_each_row(shape, [&](std::int64_t first) {
    const float* const x = call.x.data + first;
    const float* const upstream = call.y_gradient.data + first;
    const float norm = call.norms.data[first / columns];
    const bool is_small = norm < l2_norm_least;
    const float divisor = is_small ? l2_norm_least : norm;
    const float along = is_small ? 0.0F : fold_sum(columns, [=](std::int64_t i) {
      return upstream[i] * (x[i] / divisor);
    });
    store_row(call.x_gradient.data + first, columns, call.write,
              [=](std::int64_t i) { return (upstream[i] - (x[i] / divisor) * along) / divisor; });
  });
}

}  // namespace trainyard::runtime
