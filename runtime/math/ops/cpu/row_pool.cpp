#include "runtime/math/ops/row_pool.h"

#include <algorithm>

#include "runtime/math/avx512.h"
#include "runtime/math/elements/binary.h"
#include "runtime/math/ops/cpu/elementwise_map.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Calls visit(example, first float of the element's part of its row, weight) for each element.
template <class Visit>
void for_each_element(const RowPool& pool, std::size_t row_floats, Visit visit) {
  ENSURE(pool.places.size() == pool.x.columns.size());
  const auto counted = pool.counted.empty() ? pool.x.offsets : pool.counted;
  ENSURE(counted.size() == pool.x.offsets.size());
  for (std::int64_t example = 0; example < pool.x.rows(); ++example) {
    const auto begin = static_cast<std::size_t>(pool.x.offsets[static_cast<std::size_t>(example)]);
    const auto end =
        static_cast<std::size_t>(pool.x.offsets[static_cast<std::size_t>(example) + 1]);
    const auto next = static_cast<std::size_t>(example) + 1;
    const float share =
        pool.mean ? 1.0F / static_cast<float>(counted[next] - counted[next - 1]) : 1.0F;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row =
          static_cast<std::size_t>(pool.places[i]) * static_cast<std::size_t>(pool.width);
      ENSURE(row < row_floats);
      visit(example, row + static_cast<std::size_t>(pool.first), share * pool.x.values[i]);
    }
  }
}

}  // namespace

void pool_rows(const RowPool& pool, std::span<const float> rows, Tensor pooled) {
  const std::int64_t columns = pooled.shape.columns();
  ENSURE(pooled.shape.rows() == pool.x.rows() && pool.first + columns <= pool.width);
  std::ranges::fill(pooled.span(), 0.0F);
  for_each_element(pool, rows.size(), [&](std::int64_t example, std::size_t from, float weight) {
    const float* const row = rows.data() + from;
    float* const to = pooled.data + example * columns;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) to[i] += weight * row[i];
  });
}

void pool_rows_gradient(const RowPool& pool, ConstTensor pooled_gradient,
                        std::span<float> gradients) {
  const std::int64_t columns = pooled_gradient.shape.columns();
  ENSURE(pooled_gradient.shape.rows() == pool.x.rows() && pool.first + columns <= pool.width);
  for_each_element(pool, gradients.size(),
                   [&](std::int64_t example, std::size_t into, float weight) {
                     const float* const from = pooled_gradient.data + example * columns;
                     float* const to = gradients.data() + into;
#pragma GCC ivdep
                     for (std::int64_t i = 0; i < columns; ++i) to[i] += weight * from[i];
                   });
}

void add(ConstTensor a, ConstTensor b, Tensor sum) {
  map_two(a, b, sum, Write::overwrite, SumOfTwo{});
}

void pass_on(ConstTensor gradient, Tensor into, Write write, const Threads& threads) {
  ENSURE(gradient.shape == into.shape);
  threads.split({.count = into.elements(), .nanoseconds_each = 0.3}, [&](const Part& part) {
    by_vectors([=, from = gradient.data, to = into.data] {
#pragma GCC ivdep
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        to[i] = write == Write::add ? to[i] + from[i] : from[i];
      }
    });
  });
}

}  // namespace trainyard::runtime
