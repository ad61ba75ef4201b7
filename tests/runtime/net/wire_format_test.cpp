// Gradients on the wire: what any share is decoded to is what the whole arena is.
#include "runtime/net/wire_format.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <random>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/net/gradient_encoder.h"

namespace trainyard::runtime {
namespace {

std::vector<float> gradient_of(std::int64_t elements, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> gradient(static_cast<std::size_t>(elements));
  for (float& value : gradient) value = normal(random);
  return gradient;
}

AlignedBuffer memory_for(Wire wire, std::int64_t elements, std::int64_t parts) {
  return AlignedBuffer(static_cast<std::size_t>(push_memory_floats(wire, elements, parts)));
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

Payload encoded(GradientEncoder* encoder, const AlignedBuffer& plain, std::int64_t elements,
                const Share& share, std::int64_t parts) {
  if (encoder != nullptr) return encoder->payload(share, WithResiduals::no);
  return push_payload(Wire::float32, plain.span(), elements, share, parts, WithResiduals::no);
}

}  // namespace

TEST_CASE("a share of a gradient is decoded to its part of the whole, however it is cut and torn",
          "[wire_format]") {
  std::mt19937_64 random(1);
  for (const std::int64_t elements : {0, 1, 13, 1023, 1024, 1025, 40'000, 100'003, 700'001}) {
    for (const Wire wire : wires) {
      constexpr std::int64_t parts = 2;
      std::vector<float> gradients = gradient_of(elements * parts, random());
      AlignedBuffer plain(gradients.size());
      std::ranges::copy(gradients, plain.data());
      std::optional<GradientEncoder> encoder;
      if (wire != Wire::float32) {
        encoder.emplace(
            GradientEncoder::Shape{
                .wire = wire, .arena_elements = elements, .parts = parts, .gaps = {}},
            memory_for(wire, elements, parts));
        encoder->encode(gradients, 1);
      }
      for (const std::int64_t ps : {1, 2, 3, 5}) {
        INFO(elements << " elements, wire " << static_cast<int>(wire) << ", " << ps << " ps");
        for (const Share& share : plan_shares(elements, ps)) {
          const Payload payload =
              encoded(encoder ? &*encoder : nullptr, plain, elements, share, parts);
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

TEST_CASE("residuals lie behind the gradients, part by part", "[wire_format]") {
  constexpr std::int64_t elements = 50'000;
  const std::vector<float> gradients = gradient_of(elements * 3, 7);
  GradientEncoder encoder(
      {.wire = Wire::onebit, .arena_elements = elements, .parts = 3, .gaps = {}},
      memory_for(Wire::onebit, elements, 3));
  encoder.encode(gradients, 1);
  for (const Share& share : plan_shares(elements, 2)) {
    const Payload payload = encoder.payload(share, WithResiduals::yes);
    const std::int64_t before = 3 * gradient_bytes(Wire::onebit, share);
    REQUIRE(payload.bytes() == before + 3 * share.elements() * float_bytes);
    PayloadReader reader(payload, before);
    for (std::int64_t part = 0; part < 3; ++part) {
      const auto whole = std::span(gradients).subspan(static_cast<std::size_t>(part * elements),
                                                      static_cast<std::size_t>(elements));
      std::vector<float> left = share_of(whole, share);
      const std::vector<float> decoded = share_of(decoded_whole(Wire::onebit, whole), share);
      for (std::size_t i = 0; i < left.size(); ++i) left[i] -= decoded[i];
      std::vector<float> read(left.size());
      reader.read(read);
      REQUIRE(read == left);
      REQUIRE(share_of(encoder.residual(part), share) == left);
    }
  }
}

TEST_CASE("padding keeps no residual and counts for nothing", "[wire_format]") {
  constexpr std::int64_t elements = 2'048;
  const std::vector<Range> gaps{{100, 112}, {1020, 1040}};
  std::vector<float> gradient = gradient_of(elements, 9);
  for (const Range& gap : gaps) {
    std::fill(gradient.begin() + gap.begin, gradient.begin() + gap.end, 0.0F);
  }
  GradientEncoder encoder({.wire = Wire::onebit, .arena_elements = elements, .gaps = gaps},
                          memory_for(Wire::onebit, elements, 1));
  for (int step = 0; step < 3; ++step) encoder.encode(gradient, 1);
  for (const Range& gap : gaps) {
    for (std::int64_t i = gap.begin; i < gap.end; ++i) {
      CHECK(encoder.residual(0)[static_cast<std::size_t>(i)] == 0);
    }
  }

  // The first block's mean after one step is of what is no padding.
  GradientEncoder fresh({.wire = Wire::onebit, .arena_elements = elements, .gaps = gaps},
                        memory_for(Wire::onebit, elements, 1));
  fresh.encode(gradient, 1);
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < onebit_block; ++i) {
    if (gradient[i] > 0) sum += static_cast<double>(gradient[i]);
    if (gradient[i] > 0) ++count;
  }
  const Share whole{.ranges = {{0, elements}}};
  const Payload payload = fresh.payload(whole, WithResiduals::no);
  std::vector<float> head(1);
  PayloadReader(payload).read(head);
  CHECK(static_cast<double>(head[0]) == Approx(sum / count).epsilon(1e-5));
}

}  // namespace trainyard::runtime
