#include "runtime/math/ops/dropout.h"

#include <limits>

#include "runtime/core/counter_rng.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

// As it is said in words.
std::vector<float> dropped_by_definition(const Dropout& dropout, const std::vector<float>& x,
                                         std::uint64_t elements) {
  const CounterRng rng(dropout.seed, RngStream::dropout, dropout.layer);
  std::vector<float> y;
  for (std::uint64_t at = 0; at < x.size(); ++at) {
    const std::uint64_t number =
        (dropout.first_position + at / elements) * elements + at % elements;
    const double word = rng.block(number / 4)[number % 4];
    const bool keeps = word >= dropout.rate * 4294967296.0;
    y.push_back(x[at] * (keeps ? static_cast<float>(1 / (1 - dropout.rate)) : 0.0F));
  }
  return y;
}

std::vector<float> dropped(const Dropout& dropout, const std::vector<float>& x, Shape shape) {
  std::vector<float> y(x.size());
  drop_out(dropout, tensor_of(x, shape), tensor_of(y, shape));
  return y;
}

}  // namespace

TEST_CASE("dropout keeps what the generator says, at every position", "[dropout]") {
  for (const double rate : {0.0, 0.1, 0.5, 0.9, 1.0 / 3}) {
    for (const std::uint64_t position : {0ULL, 1ULL, 3ULL, 1'000'003ULL, 1ULL << 50}) {
      for (const std::int64_t elements : {1, 2, 5, 7, 255, 256, 259, 1000}) {
        const Dropout dropout{0xABCDEF0123456789, 5, rate, position};
        const auto x = random_floats(static_cast<std::size_t>(3 * elements), 1);
        INFO("rate " << rate << " position " << position << " elements " << elements);
        require_same_bits(dropped(dropout, x, {3, elements}),
                          dropped_by_definition(dropout, x, static_cast<std::uint64_t>(elements)));
      }
    }
  }
}

TEST_CASE("of examples that have but their first elements the same are kept", "[dropout]") {
  constexpr std::int64_t examples = 3;
  const Dropout dropout{3, 2, 0.4, 100};
  for (const std::int64_t elements : {5, 64, 77}) {
    const auto x = random_floats(static_cast<std::size_t>(examples * elements), 1);
    const std::vector<float> whole = dropped(dropout, x, {examples, elements});
    for (const std::int64_t part : {std::int64_t{1}, std::int64_t{4}, elements}) {
      std::vector<float> first_of_x;
      std::vector<float> first_of_whole;
      for (std::int64_t i = 0; i < examples * elements; ++i) {
        if (i % elements >= part) continue;
        first_of_x.push_back(x[static_cast<std::size_t>(i)]);
        first_of_whole.push_back(whole[static_cast<std::size_t>(i)]);
      }
      Dropout with_stride = dropout;
      with_stride.stride = static_cast<std::uint64_t>(elements);
      require_same_bits(dropped(with_stride, first_of_x, {examples, part}), first_of_whole);
    }
  }
}

TEST_CASE("factors of a part are those of the whole", "[dropout]") {
  const Dropout dropout{3, 2, 0.4, 100};
  const std::vector<float> ones(500, 1.0F);
  const std::vector<float> whole = dropped(dropout, ones, {1, 500});
  for (const std::size_t first : {0U, 1U, 30U, 255U}) {
    for (const std::size_t count : {0U, 1U, 5U, 32U, 100U}) {
      std::vector<float> factors(count);
      dropout_factors(dropout, 100 * 500 + first, factors);
      require_same_bits(factors, std::span(whole).subspan(first, count));
    }
  }
}

TEST_CASE("what is dropped does not depend on how the line of examples is divided", "[dropout]") {
  constexpr std::int64_t elements = 77;
  constexpr std::int64_t examples = 13;
  const auto x = random_floats(elements * examples, 1);
  const Dropout all{3, 2, 0.4, 100};
  const std::vector<float> whole = dropped(all, x, {examples, 7, 11});
  for (std::int64_t split = 1; split < examples; ++split) {
    const auto middle = static_cast<std::ptrdiff_t>(split * elements);
    const std::vector<float> head(x.begin(), x.begin() + middle);
    const std::vector<float> tail(x.begin() + middle, x.end());
    Dropout later = all;
    later.first_position += static_cast<std::uint64_t>(split);
    std::vector<float> parts = dropped(all, head, {split, 7, 11});
    for (const float value : dropped(later, tail, {examples - split, 7, 11})) {
      parts.push_back(value);
    }
    require_same_bits(parts, whole);
  }
}

TEST_CASE("the gradient goes where the values went, and adds where asked to", "[dropout]") {
  const Dropout dropout{1, 0, 0.3, 9};
  const Shape shape{4, 50};
  const std::vector<float> ones(200, 1.0F);
  const std::vector<float> kept = dropped(dropout, ones, shape);
  const auto upstream = random_floats(200, 2);
  std::vector<float> gradient = upstream;  // in place
  drop_out_gradient(dropout, tensor_of(std::as_const(gradient), shape), tensor_of(gradient, shape),
                    Write::overwrite);
  std::vector<float> added(200, 1.0F);
  drop_out_gradient(dropout, tensor_of(upstream, shape), tensor_of(added, shape), Write::add);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(gradient[i] == kept[i] * upstream[i]);
    REQUIRE(added[i] == 1.0F + kept[i] * upstream[i]);
  }
  // It is linear: a difference need not be small.
  const auto x = random_floats(200, 3);
  const auto along = random_floats(200, 4);
  const double difference = dot(dropped(dropout, moved(x, along, 1), shape), upstream) -
                            dot(dropped(dropout, x, shape), upstream);
  CHECK(difference == Approx(dot(gradient, along)).epsilon(1e-5));
}

TEST_CASE("as many are dropped as the rate says, other ones for another layer and seed",
          "[dropout]") {
  const Shape shape{100, 1000};
  const std::vector<float> ones(100'000, 1.0F);
  const auto kept_by = [&](const Dropout& dropout) { return dropped(dropout, ones, shape); };
  const Dropout dropout{1, 0, 0.25, 0};
  const std::vector<float> kept = kept_by(dropout);
  // 5 standard deviations: 5 * sqrt(0.25 * 0.75 / 100,000) = 0.0068
  CHECK(static_cast<double>(std::ranges::count(kept, 0.0F)) / 1e5 == Approx(0.25).margin(0.0068));
  double sum = 0;
  for (const float value : kept) sum += wide(value);
  CHECK(sum / 1e5 == Approx(1).margin(0.01));
  // Independent draws agree in 0.25^2 + 0.75^2 of all places.
  for (const Dropout& other : {Dropout{2, 0, 0.25, 0}, Dropout{1, 1, 0.25, 0}}) {
    const std::vector<float> more = kept_by(other);
    double same = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) same += kept[i] == more[i] ? 1 : 0;
    CHECK(same / 1e5 == Approx(0.625).margin(0.01));
  }
}

TEST_CASE("dropout does not hide what is no number", "[dropout]") {
  const std::vector<float> x(64, std::numeric_limits<float>::quiet_NaN());
  for (const float value : dropped({1, 0, 0.5, 0}, x, {8, 8})) CHECK(std::isnan(value));
}

}  // namespace trainyard::runtime
