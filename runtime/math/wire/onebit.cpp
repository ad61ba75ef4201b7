// Sums are kept in 16 lanes, element i in lane i % 16, and the lanes added pair by pair: the same
// bits on every host, and loops that the compiler makes vectors of.
#include "runtime/math/wire/onebit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "signs are read as words");

constexpr std::size_t kWord = 32;  // signs that are looked at together
constexpr std::size_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

float total(Lanes lanes) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// The values of one block, added up by their sign.
struct Sums {
  alignas(64) Lanes positive{};
  alignas(64) Lanes negative{};

  // values[i] belongs to lane i.
  void add(const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      positive[i] += values[i] < 0.0F ? 0.0F : values[i];
      negative[i] += values[i] < 0.0F ? values[i] : 0.0F;
    }
  }
};

std::uint32_t signs_of(const float* values, std::size_t count) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= static_cast<std::uint32_t>(values[i] < 0.0F) << i;
  }
  return word;
}

void pick(std::uint32_t word, const OneBitMeans& means, float* out, std::size_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    out[i] = ((word >> i) & 1U) != 0 ? means.negative : means.positive;
  }
}

}  // namespace

OneBitMeans encode_onebit(std::span<const float> gradient, float residual_scale,
                          std::span<float> residual, std::span<std::uint8_t> signs,
                          std::size_t padding) {
  const std::size_t size = gradient.size();
  ENSURE(size <= onebit_block && residual.size() == size);
  ENSURE(signs.size() == onebit_sign_bytes(size));
  const float* const in = gradient.data();
  float* const values = residual.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) values[i] = values[i] * residual_scale + in[i];

  Sums sums;
  std::size_t below = 0;
  std::size_t at = 0;
  const auto keep = [&](std::uint32_t word, std::size_t count) {
    below += static_cast<std::size_t>(std::popcount(word));
    std::memcpy(signs.data() + at / 8, &word, onebit_sign_bytes(count));
  };
  for (; at + kWord <= size; at += kWord) {
    sums.add(values + at, kLanes);
    sums.add(values + at + kLanes, kLanes);
    keep(signs_of(values + at, kWord), kWord);
  }
  if (at < size) {
    const std::size_t first = std::min(kLanes, size - at);
    sums.add(values + at, first);
    sums.add(values + at + first, size - at - first);
    keep(signs_of(values + at, size - at), size - at);
  }

  const std::size_t above = size - below - padding;
  const OneBitMeans means{
      .positive = above == 0 ? 0.0F : total(sums.positive) / static_cast<float>(above),
      .negative = below == 0 ? 0.0F : total(sums.negative) / static_cast<float>(below)};
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    values[i] -= values[i] < 0.0F ? means.negative : means.positive;
  }
  return means;
}

void decode_onebit(std::span<const std::uint8_t> signs, const OneBitMeans& means,
                   std::span<float> out) {
  ENSURE(signs.size() >= onebit_sign_bytes(out.size()));
  std::uint32_t word = 0;
  std::size_t at = 0;
  for (; at + kWord <= out.size(); at += kWord) {
    std::memcpy(&word, signs.data() + at / 8, sizeof word);
    pick(word, means, out.data() + at, kWord);
  }
  if (at == out.size()) return;
  word = 0;
  std::memcpy(&word, signs.data() + at / 8, onebit_sign_bytes(out.size() - at));
  pick(word, means, out.data() + at, out.size() - at);
}

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F80'0000U;
  std::uint32_t bad = 0;
  for (const float value : values) {
    bad |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace trainyard::runtime
