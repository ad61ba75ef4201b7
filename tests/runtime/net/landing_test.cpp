// Updates that are written over their gradient, and what becomes of one that is not whole in the
// end.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/aggregator.h"
#include "tests/runtime/net/gradient_pieces.h"

namespace trainyard::runtime {
namespace {

using test::Begun, test::Door, test::doors, test::Gang, test::push_of, test::pull_of,
    test::StreamClient, test::worker;

constexpr std::size_t count = 10'007;  // several blocks and a rest
const Share whole{.ranges = {{0, static_cast<std::int64_t>(count)}}};
const std::array<std::int64_t, 1> order{0};

AlignedBuffer waves(float first) {
  AlignedBuffer buffer(count);
  for (std::size_t i = 0; i < count; ++i) {
    buffer.span()[i] = first + std::sin(static_cast<float>(i));
  }
  return buffer;
}

ParameterShard shard_of(OptimizerKind kind) {
  std::vector<AlignedBuffer> slots;
  for (std::size_t i = 0; i < slot_names(kind).size(); ++i) slots.emplace_back(count);
  return {{.kind = kind, .weight_decay = 0.01F}, waves(1.0F), std::move(slots)};
}

ParameterShard::Update update_of(std::int64_t step) {
  return {.learning_rate = 0.1, .step = step, .gradient_scale = 0.5F};
}

// A gradient as the update reads it; it outlives what is made of it.
class Sum {
 public:
  explicit Sum(std::span<const float> gradient) : payload_(payload_of(gradient, whole)) {}
  TreeSum operator()(std::size_t begin) const {
    const auto first = static_cast<std::int64_t>(begin);
    return {{GradientReader(Wire::float32, whole, payload_, 0, first)}, order};
  }

 private:
  Payload payload_;
};

std::shared_ptr<WeightsBuffer> landed(const ParameterShard& shard, const AlignedBuffer& gradient) {
  auto landing = shard.landing();
  std::ranges::copy(gradient.span(), landing->span().begin());
  return landing;
}

void check_same(const ParameterShard& made, const ParameterShard& expected) {
  CHECK(std::ranges::equal(made.weights()->span(), expected.weights()->span()));
  for (std::size_t i = 0; i < expected.slots().size(); ++i) {
    CHECK(std::ranges::equal(made.slots()[i].span(), expected.slots()[i].span()));
  }
}

}  // namespace

TEST_CASE("an update over its gradient has the bits of one apart", "[landing]") {
  using enum OptimizerKind;
  for (const auto kind : {sgd, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw}) {
    INFO("optimizer " << static_cast<int>(kind));
    ParameterShard apart = shard_of(kind);
    ParameterShard over = shard_of(kind);
    for (std::int64_t step = 1; step <= 3; ++step) {
      const AlignedBuffer gradient = waves(static_cast<float>(step));
      apart.apply(Sum(gradient.span()), update_of(step));
      const Weights before = over.weights();
      const std::vector<float> read(before->span().begin(), before->span().end());
      auto landing = landed(over, gradient);
      over.write_in(landing);
      over.apply(Sum(landing->span()), update_of(step));
      CHECK(over.weights() == landing);
      CHECK(std::ranges::equal(before->span(), read));
    }
    check_same(over, apart);
  }
}

TEST_CASE("what was updated ahead is kept when the gradient comes once more", "[landing]") {
  const AlignedBuffer gradient = waves(0.3F);
  ParameterShard expected = shard_of(OptimizerKind::adam);
  expected.apply(Sum(gradient.span()), update_of(1));
  for (const bool comes_to_landing : {true, false}) {
    ParameterShard shard = shard_of(OptimizerKind::adam);
    const auto first = landed(shard, gradient);
    shard.write_in(first);
    shard.apply_tail(Sum(first->span()), update_of(1), 6'000);
    std::ranges::fill(first->span().first(6'000), -1e30F);  // still written by who died

    const auto second = comes_to_landing ? landed(shard, gradient) : nullptr;
    const Sum sum(second ? std::span<const float>(second->span()) : gradient.span());
    shard.write_in(second);
    shard.apply_tail(sum, update_of(1), 3'000);
    shard.write_in(second);
    shard.apply(sum, update_of(1));
    std::ranges::fill(first->span(), -1e30F);
    check_same(shard, expected);
  }
}

TEST_CASE("a gradient has a landing where it is all that an update sums", "[landing]") {
  const auto has_landing = [](Mode mode, std::int64_t ranks, Wire wire, std::int64_t leaves) {
    Aggregator::Rules rules;
    rules.gate = {.mode = mode, .ranks = ranks, .max_steps = 10};
    rules.leaves = leaves;
    rules.wire = wire;
    Aggregator aggregator(rules, shard_of(OptimizerKind::sgd), {}, {});
    return aggregator.landing() != nullptr;
  };
  CHECK(has_landing(Mode::sync, 1, Wire::float32, 1));
  CHECK(has_landing(Mode::sync, 1, Wire::float32, 4));
  CHECK_FALSE(has_landing(Mode::sync, 2, Wire::float32, 2));
  CHECK_FALSE(has_landing(Mode::sync, 1, Wire::bfloat16, 1));
  CHECK(has_landing(Mode::async, 1, Wire::float32, 0));
  CHECK(has_landing(Mode::async, 3, Wire::float32, 0));
  CHECK_FALSE(has_landing(Mode::async, 3, Wire::onebit, 0));
}

TEST_CASE("there are only so many landings at once, whoever holds them", "[landing]") {
  Aggregator::Rules rules;
  rules.gate = {.mode = Mode::async, .ranks = 2, .max_steps = 10};
  Aggregator aggregator(rules, shard_of(OptimizerKind::sgd), {}, {});
  std::vector<std::shared_ptr<WeightsBuffer>> held;
  while (auto landing = aggregator.landing()) {
    held.push_back(std::move(landing));
    REQUIRE(held.size() < 100);
  }
  CHECK(held.size() == 6);
  held.pop_back();
  CHECK(aggregator.landing() != nullptr);
}

TEST_CASE("what a lost worker still sends does not come into the parameters of who is back",
          "[landing][stream_port][tails]") {
  const std::string expected = test::parameters_of_step(1);
  const Begun begun(0);
  test::GangSpec spec = test::gang_of_pieces(1);
  spec.return_limit = std::chrono::seconds(60);
  for (const Door door : doors) {
    const Gang gang(spec);
    StreamClient lost = worker(gang, 0, door);
    std::string ahead;
    REQUIRE(lost.send(begun.head() + std::string(begun.pieces_of(3))));
    test::receive_tails(lost, 2 * test::piece, ahead);

    StreamClient successor = worker(gang, 0, door);
    const auto answer = successor.exchange(push_of(0, 1, test::all_floats));
    REQUIRE(answer.has_value());
    CHECK(answer->data() == expected);

    const std::string late(3 * test::piece, '\x7f');
    CHECK(lost.send(late));
    test::receive_tails(lost, SIZE_MAX, ahead);  // to the refusal: late bytes are in its landing
    const auto again = successor.exchange(pull_of(0, 1));
    REQUIRE(again.has_value());
    CHECK(again->data() == expected);
  }
}

}  // namespace trainyard::runtime
