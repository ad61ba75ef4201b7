// Gradients of a node's leaves that are added on a device have the bytes that NodeSums gives.
#include "runtime/graph/device_sums.h"

#include <catch2/catch.hpp>

#include "tests/runtime/model/replica_scene.h"

namespace trainyard::runtime::replica_scene {
namespace {

constexpr std::size_t device_bytes = std::size_t{256} << 20;

// The node's leaves on the device. What is told to be final is: it is taken then.
std::vector<float> by_device(Model& model, const Network& network, std::span<const float> weights,
                             Leaves node, std::int64_t step) {
  AlignedBuffer gradients(weights.size());
  std::vector<float> taken(weights.size());
  std::size_t finals = 0;
  for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    std::ranges::fill(gradients.span(), NAN);
    const auto take = [&](std::size_t number) {
      const Variable& variable = model.variables()[number];
      const auto from = gradients.span().begin() + variable.offset;
      std::copy_n(from, variable.elements, taken.begin() + variable.offset);
      ++finals;
    };
    GradientCallbacks news{.on_need = {}, .on_result = {}, .on_final = take};
    news.leaf = {.is_first = leaf == node.begin,
                 .is_last = leaf + 1 == node.end,
                 .ends = nodes_that_end_with(leaf, node)};
    model.gradient(weights, batch_of(network.data, step, leaf), gradients.span(), news);
    CHECK(finals == (leaf + 1 == node.end ? model.variables().size() : 0));
  }
  CHECK(same_bytes(taken, gradients.span()));
  return taken;
}

}  // namespace

TEST_CASE("leaves that are added on a device have the sums of the host", "[sums][threads]") {
  for (const Network& network : networks()) {
    HostDevice device({.bytes = device_bytes, .is_late = true});
    Model model = built(network, &device);
    REQUIRE(model.adds_up(9));
    AlignedBuffer weights(static_cast<std::size_t>(model.arena_elements()));
    model.initialize(3, weights.span());
    for (const Leaves node : {Leaves{0, 2}, Leaves{4, 7}, Leaves{0, 1}, Leaves{0, 9}}) {
      INFO(network.name << ", leaves " << node.begin << " to " << node.end);
      const Sums expected = by_one(network, weights.span(), {node}, 1);
      CHECK(by_device(model, network, weights.span(), node, 1) == expected.gradient);
    }
  }
}

TEST_CASE("a device without room for sums leaves them to the host", "[sums]") {
  const Network network{"wide", models::mlp({1000, 1000}, "relu"), image_shape()};
  HostDevice device({.bytes = device_spare_bytes + (std::size_t{16} << 20)});
  Model model = built(network, &device);
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(model.adds_up(16));
    CHECK(model.adds_up(2));
  }
  CHECK_FALSE(built(network, nullptr).adds_up(2));
}

}  // namespace trainyard::runtime::replica_scene
