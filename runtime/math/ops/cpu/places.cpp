#include "runtime/math/ops/places.h"

#include <algorithm>
#include <numbers>

#include "runtime/core/portable_math.h"
#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Of a place: a cosine and a sine for each pair of a head's features.
struct Turns {
  std::int64_t pairs = 0;
  float* cosines = nullptr;  // [time, pairs]
  float* sines = nullptr;
};

std::int64_t pairs_of(const Rotation& rotation, std::int64_t features) {
  ENSURE(rotation.heads >= 1 && features % (2 * rotation.heads) == 0);
  return features / (2 * rotation.heads);
}

enum class Way { forward, backward };

Turns turns_of(const Rotation& rotation, Way way, const Shape& x, std::span<float> scratch) {
  ENSURE(x.rank() == 3);
  const std::int64_t time = x[1];
  const std::int64_t pairs = pairs_of(rotation, x.columns());
  ENSURE(std::ssize(scratch) >= rotation_scratch(rotation, time, x.columns()));
  const Turns turns{
      .pairs = pairs, .cosines = scratch.data(), .sines = scratch.data() + time * pairs};
  const double log_theta = portable_log(rotation.theta);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(pairs);
    const double turns_a_place = portable_exp(-share * log_theta) / (2.0 * std::numbers::pi);
    for (std::int64_t t = 0; t < time; ++t) {
      const double angle = static_cast<double>(t) * turns_a_place;
      const auto sine = static_cast<float>(cos_of_turns(angle - 0.25));
      turns.cosines[t * pairs + i] = static_cast<float>(cos_of_turns(angle));
      turns.sines[t * pairs + i] = way == Way::forward ? sine : -sine;
    }
  }
  return turns;
}

template <Write write>
void store(float* to, float value) {
  *to = write == Write::add ? *to + value : value;
}

template <Write write>
void turn_rows(const Rotation& rotation, const Turns& turns, ConstTensor x, Tensor y,
               const Part& rows) {
  const std::int64_t time = x.shape[1];
  const std::int64_t features = x.shape.columns();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* const cosines = turns.cosines + row % time * turns.pairs;
    const float* const sines = turns.sines + row % time * turns.pairs;
    for (std::int64_t head = 0; head < rotation.heads; ++head) {
      const std::int64_t first = row * features + head * 2 * turns.pairs;
      const float* const from = x.data + first;
      float* const to = y.data + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < turns.pairs; ++i) {
        const float even = from[2 * i];
        const float odd = from[2 * i + 1];
        store<write>(to + 2 * i, even * cosines[i] - odd * sines[i]);
        store<write>(to + 2 * i + 1, even * sines[i] + odd * cosines[i]);
      }
    }
  }
}

template <Write write>
void turn(const Rotation& rotation, const Turns& turns, ConstTensor x, Tensor y,
          const Threads& threads) {
  ENSURE(x.shape == y.shape);
  const Items rows{.count = x.shape.rows(),
                   .nanoseconds_each = 0.5 * static_cast<double>(x.shape.columns())};
  threads.split(rows, [&](const Part& part) { turn_rows<write>(rotation, turns, x, y, part); });
}

}  // namespace

void add_places(ConstTensor x, ConstTensor table, Tensor y, const Threads& threads) {
  ENSURE(x.shape == y.shape && x.shape.rank() == 3 && table.shape.rank() == 2);
  ENSURE(table.shape.columns() == x.shape.columns() && table.shape[0] >= x.shape[1]);
  const std::int64_t each = x.shape[1] * x.shape.columns();
  const Items examples{.count = x.shape[0], .nanoseconds_each = 0.2 * static_cast<double>(each)};
  threads.split(examples, [&](const Part& part) {
    for (std::int64_t example = part.begin; example < part.end; ++example) {
      const float* const from = x.data + example * each;
      float* const to = y.data + example * each;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < each; ++i) to[i] = from[i] + table.data[i];
    }
  });
}

void add_places_gradient(ConstTensor y_gradient, Tensor table_gradient, Write write,
                         const Threads& threads) {
  const Shape& y = y_gradient.shape;
  ENSURE(y.rank() == 3 && table_gradient.shape.columns() == y.columns());
  const std::int64_t each = y[1] * y.columns();
  ENSURE(table_gradient.elements() >= each);
  sum_rows({y_gradient.data, {y[0], each}}, {table_gradient.data, {each}}, write, threads);
  if (write == Write::add) return;
  std::ranges::fill(table_gradient.span().subspan(static_cast<std::size_t>(each)), 0.0F);
}

std::int64_t rotation_scratch(const Rotation& rotation, std::int64_t time, std::int64_t features) {
  return 2 * time * pairs_of(rotation, features);
}

void rotate(const Rotation& rotation, ConstTensor x, Tensor y, std::span<float> scratch,
            const Threads& threads) {
  turn<Write::overwrite>(rotation, turns_of(rotation, Way::forward, x.shape, scratch), x, y,
                         threads);
}

void rotate_gradient(const Rotation& rotation, ConstTensor y_gradient, Tensor x_gradient,
                     Write write, std::span<float> scratch, const Threads& threads) {
  const Turns turns = turns_of(rotation, Way::backward, y_gradient.shape, scratch);
  if (write == Write::add) {
    turn<Write::add>(rotation, turns, y_gradient, x_gradient, threads);
  } else {
    turn<Write::overwrite>(rotation, turns, y_gradient, x_gradient, threads);
  }
}

}  // namespace trainyard::runtime
