// Gradients that a device rounds to bfloat16, and parameters that it takes rounded, have the bits
// of the CPU's codec, wherever they are computed; state comes and goes as it is.
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/math/wire/bfloat16.h"
#include "tests/runtime/model/replica_scene.h"

namespace trainyard::runtime::replica_scene {
namespace {

constexpr std::size_t device_room = std::size_t{256} << 20;
constexpr std::uint16_t not_written = 0x7FC1;

struct RoundedGradient {
  std::vector<std::uint16_t> halves;  // before state
  std::vector<float> arena;
};

RoundedGradient rounded(std::span<const float> exact, std::size_t state) {
  RoundedGradient result{.halves = std::vector<std::uint16_t>(state),
                         .arena = {exact.begin(), exact.end()}};
  encode_bfloat16(exact.first(state), result.halves);
  return result;
}

}  // namespace

TEST_CASE("a device rounds gradients as the wire does, and leaves state as it is", "[wire]") {
  for (const Network& network : networks()) {
    INFO(network.name);
    HostDevice device({.bytes = device_room, .is_late = true});
    Model model = built(network, &device);
    REQUIRE(model.converts_bfloat16());
    std::vector<float> weights(static_cast<std::size_t>(model.arena_elements()));
    model.initialize(3, weights);
    const std::size_t state =
        std::min(weights.size(), static_cast<std::size_t>(state_begin_of(model.variables())));
    for (std::int64_t step = 1; step <= 3; ++step) {
      const Sums exact = by_one(network, weights, {{0, 1}}, step);
      const RoundedGradient expected = rounded(exact.gradient, state);
      std::vector<std::uint16_t> halves(state, not_written);
      std::vector<std::uint16_t> when_final(state, 0);
      std::vector<float> arena(weights.size(), NAN);
      GradientCallbacks news;
      news.on_final = [&](std::size_t number) {
        const Variable& variable = model.variables()[number];
        if (variable.update != UpdateRule::optimizer) return;
        std::copy_n(halves.begin() + variable.offset, variable.elements,
                    when_final.begin() + variable.offset);
      };
      news.bfloat16 = halves;
      model.gradient(weights, batch_of(network.data, step, 0), arena, news);
      CHECK(halves == expected.halves);
      CHECK(when_final == expected.halves);
      CHECK(same_bytes(std::span(arena).subspan(state), std::span(expected.arena).subspan(state)));
      for (const Variable& variable : model.variables()) {  // no bytes travel for nothing
        if (variable.update != UpdateRule::optimizer) continue;
        CHECK(std::isnan(arena[static_cast<std::size_t>(variable.offset)]));
      }
    }
  }
}

TEST_CASE("a device computes with rounded parameters what decoded ones give", "[wire]") {
  for (const Network& network : networks()) {
    INFO(network.name);
    HostDevice device({.bytes = device_room, .is_late = true});
    Model model = built(network, &device);
    Model on_host = built(network, nullptr);
    REQUIRE(model.converts_bfloat16());
    std::vector<float> exact(static_cast<std::size_t>(model.arena_elements()));
    const std::size_t state =
        std::min(exact.size(), static_cast<std::size_t>(state_begin_of(model.variables())));
    for (std::int64_t step = 1; step <= 3; ++step) {
      model.initialize(static_cast<std::uint64_t>(step), exact);
      const RoundedGradient weights = rounded(exact, state);
      std::vector<float> decoded = exact;
      decode_bfloat16(weights.halves, std::span(decoded).first(state));
      std::vector<float> unread = exact;  // where what came rounded is not
      std::fill_n(unread.begin(), state, NAN);
      const ParameterPlace place(unread, weights.halves);
      std::vector<std::uint16_t> halves(state, not_written);
      for (std::int64_t leaf = 0; leaf < 2; ++leaf) {
        const Batch batch = batch_of(network.data, step, leaf);
        std::vector<float> wanted(exact.size());
        const BatchResult on_cpu = on_host.gradient(decoded, batch, wanted);
        std::vector<float> arena(exact.size());
        CHECK(are_same(model.gradient(place, batch, arena), on_cpu));
        CHECK(same_bytes(arena, wanted));
        GradientCallbacks news;  // both ways at once, through one place of the device's
        news.bfloat16 = halves;
        model.gradient(place, batch, arena, news);
        CHECK(halves == rounded(wanted, state).halves);
        CHECK(are_same(model.evaluate(place, batch), on_host.evaluate(decoded, batch)));
      }
      std::vector<float> arena(exact.size());  // and exact ones again
      model.gradient(exact, batch_of(network.data, step, 0), arena);
      CHECK(same_bytes(arena, by_one(network, exact, {{0, 1}}, step).gradient));
    }
  }
}

TEST_CASE("frozen variables are zero where a device rounds", "[wire]") {
  const Network network{"half frozen", network_of(R"({
      "layers": ["flatten", {"op": "dense", "units": 5, "freeze": true}, "relu",
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})"),
                        image_shape()};
  HostDevice device({.bytes = device_room});
  Model model = built(network, &device);
  REQUIRE(model.converts_bfloat16());
  std::vector<float> weights(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(3, weights);
  const Sums exact = by_one(network, weights, {{0, 1}}, 1);
  std::vector<std::uint16_t> halves(weights.size(), not_written);
  std::vector<float> arena(weights.size(), NAN);
  GradientCallbacks news;
  news.bfloat16 = halves;
  model.gradient(weights, batch_of(network.data, 1, 0), arena, news);
  CHECK(halves == rounded(exact.gradient, weights.size()).halves);
}

TEST_CASE("a device without room for rounded gradients leaves them to the host", "[wire]") {
  const Network network{"wide", models::mlp({1000, 1000}, "relu"), image_shape()};
  HostDevice device({.bytes = device_spare_bytes + (std::size_t{9} << 20)});
  Model model = built(network, &device);
  for (int i = 0; i < 2; ++i) CHECK_FALSE(model.converts_bfloat16());
  std::vector<float> weights(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(3, weights);
  std::vector<float> arena(weights.size());
  model.gradient(weights, batch_of(network.data, 1, 0), arena);
  CHECK(same_bytes(arena, by_one(network, weights, {{0, 1}}, 1).gradient));
  CHECK_FALSE(built(network, nullptr).converts_bfloat16());
}

TEST_CASE("replicas round the gradients of nodes with one leaf", "[wire][threads]") {
  const Network network = networks()[1];
  HostDevice first({.bytes = device_room, .is_late = true});
  HostDevice second({.bytes = device_room, .is_late = true, .seed = 2});
  const std::vector<Leaves> nodes{{2, 3}, {3, 4}, {4, 5}};
  Scene scene(network, nodes, {&first, &second});
  const std::size_t elements = scene.parameters().size();
  const auto state = static_cast<std::size_t>(state_begin_of(built(network, nullptr).variables()));
  for (std::int64_t number = 1; number <= 2; ++number) {
    const Sums expected = scene.expected(number);
    std::vector<std::uint16_t> halves(nodes.size() * state, not_written);
    Replicas::Step step = scene.step(number, expected);
    step.settle = [](std::int64_t) {};  // of what it looks at nothing is there
    std::vector<std::span<std::uint16_t>> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      places.push_back(std::span(halves).subspan(i * state, state));
    }
    step.rounded = places;
    REQUIRE(*scene.replicas().add_up(step));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto exact = std::span(expected.gradient).subspan(i * elements, elements);
      const auto arena = std::span(scene.computed().gradient).subspan(i * elements, elements);
      CHECK(std::ranges::equal(places[i], rounded(exact, state).halves));
      CHECK(same_bytes(arena.subspan(state), exact.subspan(state)));
    }
  }
}

}  // namespace trainyard::runtime::replica_scene
