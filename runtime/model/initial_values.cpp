#include "runtime/model/initial_values.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/counter_rng.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint64_t draws_apart = std::uint64_t{1} << 40;  // more than a variable has numbers

double truncated_normal(const CounterRng& rng, std::uint64_t position) {
  for (;; position += draws_apart) {
    const double number = rng.normal(position);
    if (std::fabs(number) <= 2) return number;
  }
}

double dot(std::span<const double> left, std::span<const double> right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

// Gram and Schmidt's way, modified, twice: once leaves what rounding has left (Giraud, Langou and
// Rozloznik 2005). Vectors of normal numbers are independent.
void make_orthonormal(std::span<double> vectors, std::size_t length) {
  const std::size_t count = vectors.size() / length;
  for (std::size_t v = 0; v < count; ++v) {
    const std::span<double> vector = vectors.subspan(v * length, length);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t other = 0; other < v; ++other) {
        const std::span<const double> before = vectors.subspan(other * length, length);
        const double along = dot(vector, before);
        for (std::size_t i = 0; i < length; ++i) vector[i] -= along * before[i];
      }
    }
    const double norm = std::sqrt(dot(vector, vector));
    for (double& number : vector) number /= norm;
  }
}

void set_orthogonal(double scale, const CounterRng& rng, std::size_t columns,
                    std::span<float> values) {
  const std::size_t rows = values.size() / columns;
  const bool has_more_rows = rows > columns;  // then its columns are the vectors
  const std::size_t length = std::max(rows, columns);
  std::vector<double> vectors(values.size());
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = rng.normal(i);
  make_orthonormal(vectors, length);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double number =
          has_more_rows ? vectors[column * length + row] : vectors[row * length + column];
      values[row * columns + column] = static_cast<float>(scale * number);
    }
  }
}

}  // namespace

void set_initial_values(const model::Start& start, std::uint64_t seed, std::uint32_t index,
                        std::span<const std::int64_t> shape, std::span<float> values) {
  const CounterRng rng(seed, RngStream::initialize, index);
  const auto fill = [&values](auto number_at) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(number_at(i));
  };
  switch (start.kind) {
    case model::StartKind::constant: return fill([&](std::size_t) { return start.scale; });
    case model::StartKind::normal:
      return fill([&](std::size_t i) { return start.scale * rng.normal(i); });
    case model::StartKind::uniform:
      return fill([&](std::size_t i) { return start.scale * (2.0 * rng.uniform(i) - 1.0); });
    case model::StartKind::truncated_normal:
      return fill([&](std::size_t i) { return start.scale * truncated_normal(rng, i); });
    case model::StartKind::orthogonal:
      ENSURE(!shape.empty() && shape.back() > 0);
      return set_orthogonal(start.scale, rng, static_cast<std::size_t>(shape.back()), values);
    case model::StartKind::forget_gate:
      return fill([&](std::size_t i) {
        const std::size_t gate = values.size() / 4;
        return i >= gate && i < 2 * gate ? start.scale : 0.0;
      });
  }
}

}  // namespace trainyard::runtime
