// The codecs of the wire against obvious slow versions and PyTorch's roundings.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/math/wire/onebit.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// A block as its description says, value by value. Lanes: see onebit.cpp.
struct SlowBlock {
  SlowBlock(std::span<const float> gradient, float scale, std::span<const float> residual,
            std::size_t padding) {
    std::array<std::array<float, 16>, 2> lanes{};
    std::array<std::size_t, 2> counts{};
    signs.resize((gradient.size() + 7) / 8);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      values.push_back(residual[i] * scale + gradient[i]);
      const bool below = values[i] < 0;
      ++counts[below ? 1 : 0];
      lanes[below ? 1 : 0][i % 16] += values[i];
      if (below) signs[i / 8] = static_cast<std::uint8_t>(signs[i / 8] | (1U << (i % 8)));
    }
    counts[0] -= padding;
    means = {.positive = mean(lanes[0], counts[0]), .negative = mean(lanes[1], counts[1])};
    for (const float value : values) {
      decoded.push_back(value < 0 ? means.negative : means.positive);
      left.push_back(value - decoded.back());
    }
  }

  static float mean(std::array<float, 16> lanes, std::size_t count) {
    for (std::size_t width = 8; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return count == 0 ? 0 : lanes[0] / static_cast<float>(count);
  }

  std::vector<float> values;
  std::vector<std::uint8_t> signs;
  OneBitMeans means;
  std::vector<float> decoded;
  std::vector<float> left;
};

}  // namespace

TEST_CASE("bfloat16 rounds as PyTorch does", "[wire]") {
  const auto golden = load_golden("bfloat16.json");
  const auto bits = golden.at("float32").get<std::vector<std::uint32_t>>();
  const auto expected = golden.at("bfloat16").get<std::vector<std::uint16_t>>();
  std::vector<float> values;
  for (const std::uint32_t each : bits) values.push_back(float_of(each));
  std::vector<std::uint16_t> rounded(values.size());
  encode_bfloat16(values, rounded);
  CHECK(rounded == expected);
}

TEST_CASE("what a bfloat16 says comes back to the bit, every one of them", "[wire]") {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values(all.size());
  std::vector<std::uint16_t> back(all.size());
  decode_bfloat16(all, values);
  encode_bfloat16(values, back);
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("bfloat16 " << i);
    REQUIRE(std::bit_cast<std::uint32_t>(values[i]) == static_cast<std::uint32_t>(i) << 16);
    // A NaN becomes a quiet one.
    REQUIRE(back[i] == (std::isnan(values[i]) ? (all[i] | 0x40) : all[i]));
  }
}

TEST_CASE("bfloat16 takes the nearest, and of two the even one", "[wire]") {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const float value = float_of(static_cast<std::uint32_t>(random()));
    const float got = from_bfloat16(to_bfloat16(value));
    if (std::isnan(value)) {
      CHECK(std::isnan(got));
      continue;
    }
    const auto down = std::bit_cast<std::uint32_t>(value) & 0xFFFF'0000U;
    const double below = float_of(down);
    // The next one, as if the exponent had no end: that is where infinity begins.
    const double step =
        std::ldexp(1.0, std::max(std::ilogb(value == 0 ? 1e-45F : value), -126) - 7);
    const double above = below + std::copysign(step, static_cast<double>(value));
    const double from_below = std::fabs(static_cast<double>(value) - below);
    const double from_above = std::fabs(above - static_cast<double>(value));
    const bool even_below = ((down >> 16) & 1U) == 0;
    const double nearest =
        from_below < from_above || (from_below == from_above && even_below) ? below : above;
    INFO(value);
    CHECK(
        (static_cast<double>(got) == nearest || (std::isinf(got) && std::fabs(nearest) > 3.39e38)));
  }
  CHECK(
      std::isnan(from_bfloat16(to_bfloat16(float_of(0x7F80'0001U)))));  // only its low bits are set
  CHECK(from_bfloat16(to_bfloat16(-infinity)) == -infinity);
  CHECK(std::signbit(from_bfloat16(to_bfloat16(-0.0F))));
}

TEST_CASE("a block of one bit an element is what the slow version says", "[wire]") {
  std::mt19937 random(2);
  for (std::size_t size = 0; size <= onebit_block; size += size < 40 ? 1 : 61) {
    for (const float scale : {1.0F, 2.5F}) {
      INFO(size << " elements, scale " << scale);
      const std::vector<float> gradient = random_floats(size, random());
      std::vector<float> residual = random_floats(size, random());
      const SlowBlock slow(gradient, scale, residual, 0);
      std::vector<std::uint8_t> signs(onebit_sign_bytes(size));
      const OneBitMeans means = encode_onebit(gradient, scale, residual, signs);
      CHECK(means == slow.means);
      CHECK(signs == slow.signs);
      require_same_bits(residual, slow.left);
      std::vector<float> decoded(size);
      decode_onebit(signs, means, decoded);
      require_same_bits(decoded, slow.decoded);
    }
  }
}

TEST_CASE("values of one sign, zeros of both and denormals have their means", "[wire]") {
  const auto encode = [](const std::vector<float>& gradient) {
    std::vector<float> residual(gradient.size());
    std::vector<std::uint8_t> signs(onebit_sign_bytes(gradient.size()));
    return encode_onebit(gradient, 1, residual, signs);
  };
  CHECK(encode({1, 2, 6}) == OneBitMeans{.positive = 3, .negative = 0});
  CHECK(encode({-1, -2, -6}) == OneBitMeans{.positive = 0, .negative = -3});
  CHECK(encode({0, -0.0F, 3, -1}) == OneBitMeans{.positive = 1, .negative = -1});
  CHECK(encode({1e-45F, 1e-45F, -3e-45F}) == OneBitMeans{.positive = 1e-45F, .negative = -3e-45F});
  CHECK(encode({}) == OneBitMeans{});
}

TEST_CASE("padding counts in no mean", "[wire]") {
  std::vector<float> gradient = random_floats(100, 3);
  for (std::size_t i = 40; i < 56; ++i) gradient[i] = 0;
  std::vector<float> residual(100);
  std::vector<std::uint8_t> signs(onebit_sign_bytes(100));
  const OneBitMeans means = encode_onebit(gradient, 1, residual, signs, 16);
  CHECK(means == SlowBlock(gradient, 1, std::vector<float>(100), 16).means);
  double sum = 0;
  int above = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    if (gradient[i] <= 0) continue;
    sum += static_cast<double>(gradient[i]);
    ++above;
  }
  CHECK(static_cast<double>(means.positive) == Approx(sum / above).epsilon(1e-6));
}

TEST_CASE("error feedback loses nothing: what was decoded and what is left are the gradients",
          "[wire]") {
  constexpr std::size_t size = 777;
  std::vector<float> residual(size);
  std::vector<double> given(size);
  std::vector<double> taken(size);
  std::vector<std::uint8_t> signs(onebit_sign_bytes(size));
  std::vector<float> decoded(size);
  for (std::uint64_t step = 0; step < 200; ++step) {
    const std::vector<float> gradient = random_floats(size, 100 + step);
    decode_onebit(signs, encode_onebit(gradient, 1, residual, signs), decoded);
    for (std::size_t i = 0; i < size; ++i) {
      given[i] += static_cast<double>(gradient[i]);
      taken[i] += static_cast<double>(decoded[i]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    INFO("element " << i);
    REQUIRE(taken[i] + static_cast<double>(residual[i]) == Approx(given[i]).margin(1e-4));
    REQUIRE(std::fabs(residual[i]) < 20);
  }
}

TEST_CASE("of one value that is no number a mean is none, wherever it is", "[wire]") {
  for (const std::size_t size : {1U, 7U, 64U, 1000U}) {
    const std::vector<float> values = random_floats(size, size);
    const auto is_finite = [&](std::vector<float> given) {
      std::vector<float> residual(size);
      std::vector<std::uint8_t> signs(onebit_sign_bytes(size));
      const OneBitMeans means = encode_onebit(given, 1, residual, signs);
      return std::isfinite(means.positive) && std::isfinite(means.negative);
    };
    CHECK(is_finite(values));
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {infinity, -infinity, nan, -nan}) {
      for (const std::size_t at : {std::size_t{0}, size / 3, size - 1}) {
        std::vector<float> spoilt = values;
        spoilt[at] = bad;
        CHECK_FALSE(is_finite(spoilt));
      }
    }
  }
}

}  // namespace trainyard::runtime
