// Gradients on the wire: what any share is decoded to is what the whole arena is.
#include "runtime/net/wire_format.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/net/chunks/onebit_encoder.h"

namespace trainyard::runtime {
namespace {

std::vector<float> gradient_of(std::int64_t elements, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> gradient(static_cast<std::size_t>(elements));
  for (float& value : gradient) value = normal(random);
  return gradient;
}

// What a whole gradient is decoded to, block by block of the arena.
std::vector<float> decoded_whole(Wire wire, std::span<const float> gradient) {
  std::vector<float> decoded(gradient.begin(), gradient.end());
  if (wire == Wire::bfloat16) {
    for (float& value : decoded) value = from_bfloat16(to_bfloat16(value));
  }
  for (std::size_t at = 0; wire == Wire::onebit && at < gradient.size(); at += onebit_block) {
    const auto block = gradient.subspan(at, std::min(onebit_block, gradient.size() - at));
    std::vector<float> residual(block.size());
    std::vector<std::uint8_t> signs(onebit_sign_bytes(block.size()));
    const OneBitMeans means = encode_onebit(block, 1, residual, signs);
    decode_onebit(signs, means, std::span(decoded).subspan(at, block.size()));
  }
  return decoded;
}

std::vector<float> share_of(std::span<const float> arena, const Share& share) {
  std::vector<float> values;
  for (const Range& range : share.ranges) {
    values.insert(values.end(), arena.begin() + range.begin, arena.begin() + range.end);
  }
  return values;
}

// The payload's bytes in pieces of random sizes, as a network may deliver them.
struct Torn {
  Torn(const Payload& payload, std::mt19937_64& random) {
    for (const auto& piece : payload.pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 700, bytes.size() - at);
      torn.pieces.push_back(std::span(bytes).subspan(at, count));
      at += count;
    }
  }
  std::vector<std::byte> bytes;
  Payload torn;
};

// Reads as a sum does: in blocks of `step` elements from the share's beginning.
std::vector<float> read_all(GradientReader reader, std::int64_t elements, std::int64_t step) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::int64_t at = 0; at < elements; at += step) {
    reader.read(std::span(values).subspan(static_cast<std::size_t>(at),
                                          static_cast<std::size_t>(std::min(step, elements - at))));
  }
  return values;
}

constexpr std::array wires{Wire::float32, Wire::bfloat16, Wire::onebit};

// Of all parts, as they are sent.
std::vector<std::byte> encoded(Wire wire, const std::vector<float>& gradients,
                               std::int64_t elements, std::int64_t parts) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(parts * encoded_bytes({wire, elements})));
  if (wire == Wire::float32) {
    std::ranges::copy(std::as_bytes(std::span(gradients)), bytes.begin());
  } else if (wire == Wire::bfloat16) {
    encode_bfloat16(gradients, {reinterpret_cast<std::uint16_t*>(bytes.data()), gradients.size()});
  } else {
    OneBitEncoder encoder({.elements = elements, .parts = parts, .gaps = {}});
    CHECK(encoder.encode({0, elements}, gradients, bytes));
  }
  return bytes;
}

}  // namespace

TEST_CASE("a share of a gradient is decoded to its part of the whole, however it is cut and torn",
          "[wire_format][large]") {
  std::mt19937_64 random(1);
  for (const std::int64_t elements : {0, 1, 13, 1023, 1024, 1025, 40'000, 100'003, 700'001}) {
    for (const Wire wire : wires) {
      constexpr std::int64_t parts = 2;
      std::vector<float> gradients = gradient_of(elements * parts, random());
      const std::vector<std::byte> bytes = encoded(wire, gradients, elements, parts);
      for (const std::int64_t ps : {1, 2, 3, 5}) {
        INFO(elements << " elements, wire " << static_cast<int>(wire) << ", " << ps << " ps");
        for (const Share& share : plan_shares(elements, ps)) {
          const Payload payload{.pieces = encoded_pieces({wire, elements}, bytes, share, parts),
                                .owner = nullptr};
          const std::int64_t one = gradient_bytes(wire, share);
          REQUIRE(payload.bytes() == parts * one);
          const Torn torn(payload, random);
          for (std::int64_t part = 0; part < parts; ++part) {
            const auto whole = std::span(gradients).subspan(
                static_cast<std::size_t>(part * elements), static_cast<std::size_t>(elements));
            const auto expected = share_of(decoded_whole(wire, whole), share);
            const std::int64_t step = part == 0 ? 4096 : 1'000;
            REQUIRE(read_all({wire, share, torn.torn, part * one}, share.elements(), step) ==
                    expected);
            const std::int64_t first =
                static_cast<std::int64_t>(random() % (expected.size() / 8 + 1)) * 8;
            REQUIRE(read_all({wire, share, torn.torn, part * one, first}, share.elements() - first,
                             step) == std::vector<float>(expected.begin() + first, expected.end()));
          }
        }
      }
    }
  }
}

TEST_CASE("bfloat16 halves a gradient, one bit cuts it thirtyfold", "[wire_format]") {
  const std::int64_t elements = 1'000'000;
  for (const std::int64_t ps : {1, 3}) {
    std::int64_t halves = 0;
    std::int64_t bits = 0;
    for (const Share& share : plan_shares(elements, ps)) {
      halves += gradient_bytes(Wire::bfloat16, share);
      bits += gradient_bytes(Wire::onebit, share);
    }
    CHECK(halves == 2 * elements);
    CHECK(bits * 29 < 4 * elements);
  }
}

TEST_CASE("what loses bits is sent leaf by leaf, whoever computes the leaves", "[wire_format]") {
  CHECK(sent_nodes(Wire::float32, {0, 4}, 8) == std::vector<Leaves>{{0, 4}});
  const std::vector<Leaves> single{{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  CHECK(sent_nodes(Wire::bfloat16, {0, 4}, 8) == single);
  CHECK(sent_nodes(Wire::onebit, {0, 4}, 8) == single);
}

}  // namespace trainyard::runtime
