// Summing, applying and flipping of a share.
#include "runtime/net/parameter_shard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/core/reduction_tree.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t count = 10'007;  // several blocks and a rest

AlignedBuffer filled(float first) {
  AlignedBuffer buffer(count);
  for (std::size_t i = 0; i < count; ++i) {
    buffer.span()[i] = first + std::sin(static_cast<float>(i));
  }
  return buffer;
}

const Share whole{.ranges = {{0, static_cast<std::int64_t>(count)}}};

Payload over(const AlignedBuffer& buffer) { return payload_of(buffer.span(), whole); }

// An update by the sum of gradients, in the order of the reduction tree.
void apply(ParameterShard& shard, const std::vector<const AlignedBuffer*>& gradients,
           const ParameterShard::Update& update) {
  std::vector<Payload> payloads;
  std::vector<Leaves> nodes;
  for (const AlignedBuffer* gradient : gradients) {
    payloads.push_back(over(*gradient));
    nodes.push_back({std::ssize(nodes), std::ssize(nodes) + 1});
  }
  const std::vector<std::int64_t> order = addition_order(nodes, std::ssize(nodes));
  const auto sum_from = [&](std::size_t begin) -> TreeSum {
    std::vector<GradientReader> parts;
    for (const Payload& payload : payloads) {
      parts.emplace_back(Wire::float32, whole, payload, 0, static_cast<std::int64_t>(begin));
    }
    return {std::move(parts), order};
  };
  shard.apply(sum_from, update);
}

bool same(std::span<const float> a, std::span<const float> b) { return std::ranges::equal(a, b); }

}  // namespace

TEST_CASE("an update is that of the whole range at once, in the order of the sum",
          "[parameter_shard]") {
  const OptimizerConfig adam{.kind = OptimizerKind::adam};
  const AlignedBuffer g0 = filled(0.1F);
  const AlignedBuffer g1 = filled(-0.7F);
  const AlignedBuffer g2 = filled(3.0F);
  std::vector<AlignedBuffer> slots;
  slots.emplace_back(count);
  slots.emplace_back(count);
  ParameterShard shard(adam, filled(1.0F), std::move(slots));

  AlignedBuffer weights = filled(1.0F);
  AlignedBuffer m(count);
  AlignedBuffer v(count);
  for (std::int64_t step = 1; step <= 3; ++step) {
    apply(shard, {&g0, &g1, &g2}, {.learning_rate = 0.01, .step = step, .gradient_scale = 0.125F});

    AlignedBuffer sum(count);
    for (std::size_t i = 0; i < count; ++i) {
      sum.span()[i] = (g0.span()[i] + g1.span()[i]) + g2.span()[i];
    }
    const std::vector<std::span<float>> moments{m.span(), v.span()};
    apply_update(adam, 0.01, step, 0.125F, sum.span(), weights.span(), weights.span(), moments);
    CHECK(same(shard.weights()->span(), weights.span()));
  }
  CHECK(same(shard.slots()[0].span(), m.span()));
  CHECK(same(shard.slots()[1].span(), v.span()));
}

TEST_CASE("a large update has the same bits whoever shares it", "[parameter_shard]") {
  constexpr std::size_t large = 3 * 262'144 + 17;  // several parts and a rest
  const auto waves = [](float first) {
    AlignedBuffer buffer(large);
    for (std::size_t i = 0; i < large; ++i) {
      buffer.span()[i] = first + std::sin(static_cast<float>(i));
    }
    return buffer;
  };
  const AlignedBuffer gradient = waves(0.3F);
  // In pieces that end in the middle of floats, as a network leaves them.
  Payload torn;
  const auto bytes = std::as_bytes(gradient.span());
  for (std::size_t at = 0; at < bytes.size(); at += 65'535) {
    torn.pieces.push_back(bytes.subspan(at, std::min<std::size_t>(65'535, bytes.size() - at)));
  }
  const Share all{.ranges = {{0, static_cast<std::int64_t>(large)}}};
  const std::vector<std::int64_t> order = addition_order({{0, 1}}, 1);
  const OptimizerConfig momentum{.kind = OptimizerKind::momentum};

  AlignedBuffer expected = waves(1.0F);
  AlignedBuffer velocity(large);
  const std::vector<std::span<float>> slots{velocity.span()};
  apply_update(momentum, 0.1, 1, 0.5F, gradient.span(), expected.span(), expected.span(), slots);

  for (const int threads : {0, 1, 4}) {
    std::vector<AlignedBuffer> own;
    own.emplace_back(large);
    ParameterShard shard(momentum, waves(1.0F), std::move(own));
    if (threads > 0) shard.share_out(std::make_unique<ThreadTeam>(threads));
    shard.apply(
        [&](std::size_t begin) -> TreeSum {
          const auto first = static_cast<std::int64_t>(begin);
          return {{GradientReader(Wire::float32, all, torn, 0, first)}, order};
        },
        {.learning_rate = 0.1, .step = 1, .gradient_scale = 0.5F});
    INFO(threads << " threads");
    CHECK(same(shard.weights()->span(), expected.span()));
    CHECK(same(shard.slots()[0].span(), velocity.span()));
  }
}

TEST_CASE("slots that a snapshot or a fork reads never change, and updates go on",
          "[parameter_shard]") {
  const OptimizerConfig adam{.kind = OptimizerKind::adam};
  const auto shard_of = [&adam] {
    std::vector<AlignedBuffer> slots;
    slots.emplace_back(count);
    slots.emplace_back(count);
    return ParameterShard(adam, filled(1.0F), std::move(slots));
  };
  const AlignedBuffer gradient = filled(0.3F);
  const auto step_of = [&](ParameterShard& shard, std::int64_t step) {
    apply(shard, {&gradient}, {.learning_rate = 0.1, .step = step});
  };
  const auto same_slots = [](const std::vector<AlignedBuffer>& a,
                             const std::vector<AlignedBuffer>& b) {
    return same(a[0].span(), b[0].span()) && same(a[1].span(), b[1].span());
  };
  ParameterShard plain = shard_of();
  ParameterShard of_step_1 = shard_of();
  step_of(of_step_1, 1);

  ParameterShard shard = shard_of();
  step_of(shard, 1);
  const float* const where = shard.slots()[0].data();
  Slots held = shard.lend_slots();
  CHECK((*held)[0].data() == where);  // not a copy
  ParameterShard fork = shard.fork();
  step_of(fork, 2);
  for (std::int64_t step = 2; step <= 4; ++step) step_of(shard, step);
  for (std::int64_t step = 1; step <= 4; ++step) step_of(plain, step);
  CHECK(same_slots(*held, of_step_1.slots()));
  CHECK(same_slots(shard.slots(), plain.slots()));
  CHECK(same(shard.weights()->span(), plain.weights()->span()));
  step_of(of_step_1, 2);
  CHECK(same_slots(fork.slots(), of_step_1.slots()));

  // Once nobody reads them they are the spare ones of the next snapshot.
  held = nullptr;
  held = shard.lend_slots();
  step_of(shard, 5);
  CHECK(shard.slots()[0].data() == where);
}

TEST_CASE("slots lent before an update that is made in parts stay whole", "[parameter_shard]") {
  const OptimizerConfig momentum{.kind = OptimizerKind::momentum};
  const AlignedBuffer gradient = filled(0.3F);
  const Payload payload = over(gradient);
  const std::vector<std::int64_t> order = addition_order({{0, 1}}, 1);
  const auto sum_from = [&](std::size_t begin) -> TreeSum {
    return {{GradientReader(Wire::float32, whole, payload, 0, static_cast<std::int64_t>(begin))},
            order};
  };
  const auto shard_of = [&momentum] {
    std::vector<AlignedBuffer> slots;
    slots.push_back(filled(0.5F));
    return ParameterShard(momentum, filled(1.0F), std::move(slots));
  };
  ParameterShard plain = shard_of();
  plain.apply(sum_from, {.learning_rate = 0.1});

  ParameterShard shard = shard_of();
  const Slots held = shard.lend_slots();
  shard.apply_tail(sum_from, {.learning_rate = 0.1}, 7000);
  shard.apply_tail(sum_from, {.learning_rate = 0.1}, 123);
  shard.apply(sum_from, {.learning_rate = 0.1});
  CHECK(same((*held)[0].span(), filled(0.5F).span()));
  CHECK(same(shard.slots()[0].span(), plain.slots()[0].span()));
  CHECK(same(shard.weights()->span(), plain.weights()->span()));
}

TEST_CASE("weights that somebody still reads never change", "[parameter_shard]") {
  ParameterShard shard({}, filled(1.0F), {});
  const AlignedBuffer gradient = filled(1.0F);
  const Weights held = shard.weights();
  const std::vector<float> before(held->span().begin(), held->span().end());

  for (int i = 0; i < 5; ++i) apply(shard, {&gradient}, {.learning_rate = 0.1});

  CHECK(same(held->span(), before));
  CHECK_FALSE(same(shard.weights()->span(), before));
}

TEST_CASE("buffers are used again once nobody reads them", "[parameter_shard]") {
  ParameterShard shard({}, filled(1.0F), {});
  const AlignedBuffer gradient = filled(1.0F);
  const float* const first = shard.weights()->data();
  apply(shard, {&gradient}, {.learning_rate = 0.1});
  apply(shard, {&gradient}, {.learning_rate = 0.1});
  CHECK(shard.weights()->data() == first);
}

TEST_CASE("a payload in pieces of odd sizes is read as one", "[payload]") {
  const AlignedBuffer values = filled(2.0F);
  Payload torn;
  auto rest = std::as_bytes(values.span());
  for (std::size_t i = 1; !rest.empty(); ++i) {
    const std::size_t size = std::min<std::size_t>(i % 7 * 13 + 1, rest.size());
    torn.pieces.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  AlignedBuffer read(count);
  PayloadReader reader(torn);
  reader.read(read.span().first(3));
  reader.read(read.span().subspan(3));
  CHECK(same(read.span(), values.span()));
}

TEST_CASE("floats are shown where they lie, unless pieces tear them", "[payload]") {
  const AlignedBuffer values = filled(2.0F);
  const auto bytes = std::as_bytes(values.span());
  std::vector<std::byte> moved(bytes.size() + 1);
  std::ranges::copy(bytes, moved.begin() + 1);  // no float may lie there
  const Payload whole_ones{.pieces = {bytes.first(400), bytes.subspan(400)}, .owner = nullptr};
  const Payload torn{.pieces = {bytes.first(402), bytes.subspan(402)}, .owner = nullptr};
  const Payload odd{.pieces = {std::span(moved).subspan(1)}, .owner = nullptr};
  for (const Payload* payload : {&whole_ones, &torn, &odd}) {
    GradientReader reader(Wire::float32, whole, *payload);
    AlignedBuffer room(count);
    std::vector<float> read;
    std::size_t shown = 0;
    for (const std::size_t floats :
         {std::size_t{60}, std::size_t{40}, std::size_t{10}, count - 110}) {
      const auto there = reader.view(room.span().first(floats));
      REQUIRE(there.size() == floats);
      if (there.data() != room.data()) shown += floats;
      read.insert(read.end(), there.begin(), there.end());
    }
    CHECK(same(read, values.span()));
    CHECK(shown == (payload == &whole_ones ? count : payload == &torn ? count - 10 : 0));
  }
}

TEST_CASE("a sum has the same bits wherever its parts lie", "[payload]") {
  const AlignedBuffer first = filled(0.3F);
  const AlignedBuffer second = filled(-7.0F);
  std::vector<std::byte> moved(second.size() * sizeof(float) + 1);
  std::ranges::copy(std::as_bytes(second.span()), moved.begin() + 1);
  const Payload odd{.pieces = {std::span(moved).subspan(1)}, .owner = nullptr};
  const std::vector<std::int64_t> order = addition_order(std::vector<Leaves>{{0, 1}, {1, 2}}, 2);
  const auto sum_of = [&](const Payload& left, const Payload& right) {
    TreeSum sum(
        {GradientReader(Wire::float32, whole, left), GradientReader(Wire::float32, whole, right)},
        order);
    AlignedBuffer room(TreeSum::block);
    const auto there = sum.next(room.span());
    return std::vector<float>(there.begin(), there.end());
  };
  std::vector<float> expected(TreeSum::block);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = first.span()[i] + second.span()[i];
  }
  CHECK(sum_of(over(first), over(second)) == expected);
  CHECK(sum_of(over(first), odd) == expected);
  CHECK(sum_of(odd, over(first)) == expected);
}

TEST_CASE("scatter is the inverse of the ranges of a share", "[payload]") {
  const Share share{.ranges = {{5, 100}, {1000, 1001}, {2000, 10'000}}};
  const AlignedBuffer values = filled(0.0F);
  AlignedBuffer arena(count);
  scatter(payload_of(values.span(), share), share, arena.span());
  for (std::size_t i = 0; i < count; ++i) {
    const bool inside = (i >= 5 && i < 100) || i == 1000 || (i >= 2000 && i < 10'000);
    if (arena.span()[i] != (inside ? values.span()[i] : 0.0F)) FAIL("at " << i);
  }
}

}  // namespace trainyard::runtime
