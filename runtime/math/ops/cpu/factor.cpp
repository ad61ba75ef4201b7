#include "runtime/math/ops/factor.h"

#include <algorithm>

#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct Fields {
  std::int64_t examples = 0;
  std::int64_t fields = 0;
  std::int64_t features = 0;

  explicit Fields(const Shape& x) : examples(x[0]), fields(x[1]), features(x[2]) {
    ENSURE(x.rank() == 3);
  }
  [[nodiscard]] std::int64_t elements() const { return fields * features; }
  [[nodiscard]] std::int64_t pairs() const { return fields * (fields - 1) / 2; }
};

// Of the fields, and of their squares, for features [first, first + width).
RowSums<2> field_sums(const Fields& of, const float* x, std::int64_t first, std::int64_t width) {
  return sum_of_rows<2>(of.fields, [&](std::int64_t field, RowSums<2>& to) {
    const float* const values = x + field * of.features + first;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      to[0][at] += values[i];
      to[1][at] += values[i] * values[i];
    }
  });
}

// The place of the product of fields `one` and `other`, of which `one` is the later.
std::int64_t pair_of(std::int64_t one, std::int64_t other) { return one * (one - 1) / 2 + other; }

}  // namespace

void factorize(ConstTensor x, Tensor y) {
  const Fields of(x.shape);
  ENSURE(y.elements() == of.examples);
  for (std::int64_t example = 0; example < of.examples; ++example) {
    const float* const values = x.data + example * of.elements();
    float sum = 0;
    for_each_column_strip(of.features, [&](std::int64_t first, std::int64_t width) {
      const RowSums<2> sums = field_sums(of, values, first, width);
      sum += fold_sum(width, [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        return sums[0][at] * sums[0][at] - sums[1][at];
      });
    });
    y.data[example] = 0.5F * sum;
  }
}

// Each field's is the sum of the others.
void factorize_gradient(ConstTensor x, ConstTensor y_gradient, Tensor x_gradient, Write write) {
  const Fields of(x.shape);
  ENSURE(y_gradient.elements() == of.examples && x_gradient.shape == x.shape);
  for (std::int64_t example = 0; example < of.examples; ++example) {
    const float* const values = x.data + example * of.elements();
    float* const into = x_gradient.data + example * of.elements();
    const float upstream = y_gradient.data[example];
    for_each_column_strip(of.features, [&](std::int64_t first, std::int64_t width) {
      const RowSums<2> sums = field_sums(of, values, first, width);
      for (std::int64_t field = 0; field < of.fields; ++field) {
        const float* const from = values + field * of.features + first;
        float* const to = into + field * of.features + first;
#pragma GCC ivdep
        for (std::int64_t i = 0; i < width; ++i) {
          const float value = upstream * (sums[0][static_cast<std::size_t>(i)] - from[i]);
          to[i] = write == Write::add ? to[i] + value : value;
        }
      }
    });
  }
}

void pairwise_dot(ConstTensor x, Tensor y) {
  const Fields of(x.shape);
  ENSURE(y.elements() == of.examples * of.pairs());
  for (std::int64_t example = 0; example < of.examples; ++example) {
    const float* const values = x.data + example * of.elements();
    float* const to = y.data + example * of.pairs();
    for (std::int64_t one = 1; one < of.fields; ++one) {
      for (std::int64_t other = 0; other < one; ++other) {
        const float* const a = values + one * of.features;
        const float* const b = values + other * of.features;
        to[pair_of(one, other)] =
            fold_sum(of.features, [=](std::int64_t i) { return a[i] * b[i]; });
      }
    }
  }
}

void pairwise_dot_gradient(ConstTensor x, ConstTensor y_gradient, Tensor x_gradient, Write write) {
  const Fields of(x.shape);
  ENSURE(y_gradient.elements() == of.examples * of.pairs() && x_gradient.shape == x.shape);
  for (std::int64_t example = 0; example < of.examples; ++example) {
    const float* const values = x.data + example * of.elements();
    const float* const upstream = y_gradient.data + example * of.pairs();
    for (std::int64_t field = 0; field < of.fields; ++field) {
      float* const to = x_gradient.data + example * of.elements() + field * of.features;
      bool is_first = write == Write::overwrite;
      for (std::int64_t other = 0; other < of.fields; ++other) {
        if (other == field) continue;
        const float* const from = values + other * of.features;
        const float factor = upstream[pair_of(std::max(field, other), std::min(field, other))];
#pragma GCC ivdep
        for (std::int64_t i = 0; i < of.features; ++i) {
          const float value = factor * from[i];
          to[i] = is_first ? value : to[i] + value;
        }
        is_first = false;
      }
    }
  }
}

}  // namespace trainyard::runtime
