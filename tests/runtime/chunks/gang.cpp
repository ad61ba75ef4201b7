#include "tests/runtime/chunks/gang.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "runtime/core/counter_rng.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/index.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {
namespace {

constexpr double rate = 0.01;

// Bits that nothing else has, as a float between -1 and 1.
float noise(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t bits = (a * 0x9E3779B97F4A7C15ULL) ^ (b * 0xC2B2AE3D27D4EB4FULL) ^
                       (c * 0x165667B19E3779F9ULL);
  bits ^= bits >> 29;
  bits *= 0xBF58476D1CE4E5B9ULL;
  bits ^= bits >> 32;
  return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31F;
}

std::vector<float> sum_of(Leaves node, const std::vector<std::vector<float>>& leaves) {
  if (node.count() == 1) return leaves[index_of(node.begin)];
  const std::int64_t middle = divide(node);
  std::vector<float> sum = sum_of({node.begin, middle}, leaves);
  const std::vector<float> right = sum_of({middle, node.end}, leaves);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

void through_bfloat16(std::span<float> values) {
  std::vector<std::uint16_t> halves(values.size());
  encode_bfloat16(values, halves);
  decode_bfloat16(halves, values);
}

}  // namespace

std::vector<Share> shares_of(const GangScene& scene) {
  return plan_shares(scene.elements, scene.servers);
}

std::vector<ArenaChunk> chunks_of(const GangScene& scene) {
  return cut_chunks(shares_of(scene), scene.chunk_elements);
}

std::vector<std::vector<Leaves>> nodes_of(const GangScene& scene) {
  std::vector<std::vector<Leaves>> nodes;
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) {
    if (scene.mode == Mode::async || scene.aggregate > 0) {
      const std::int64_t leaf = scene.mode == Mode::async ? 0 : rank;
      nodes.push_back({{leaf, leaf + 1}});
      continue;
    }
    const Leaves owned = leaves_of(rank, scene.ranks, scene.leaves);
    nodes.push_back(sent_nodes(scene.push, owned, scene.leaves));
  }
  return nodes;
}

float first_weight(std::int64_t element) {
  return noise(1, 2, static_cast<std::uint64_t>(element));
}

float leaf_gradient(std::int64_t leaf, std::int64_t step, std::int64_t element, float weight) {
  const float own = noise(static_cast<std::uint64_t>(leaf) + 7, static_cast<std::uint64_t>(step),
                          static_cast<std::uint64_t>(element));
  return weight * 0.25F + own;
}

std::vector<float> node_gradient(Leaves node, std::int64_t step, std::span<const float> weights) {
  std::vector<std::vector<float>> leaves(index_of(node.end));
  for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      leaves[index_of(leaf)].push_back(
          leaf_gradient(leaf, step, static_cast<std::int64_t>(i), weights[i]));
    }
  }
  return sum_of(node, leaves);
}

ChunkStore::Step step_at(const GangScene& scene) {
  auto leaves = scene.mode == Mode::sync ? scene.leaves : 1;
  if (scene.aggregate > 0) leaves = scene.aggregate;
  return {.learning_rate = rate, .gradient_scale = 1.0F / static_cast<float>(leaves)};
}

Servers::Servers(const GangScene& scene) {
  const std::vector<ArenaChunk> chunks = chunks_of(scene);
  const auto by_holder = chunks_by_holder(chunks, scene.servers);
  for (std::int64_t ps = 0; ps < scene.servers; ++ps) {
    ChunkStore::Rules rules{.chunks = {},
                            .arena_elements = scene.elements,
                            .push = scene.push,
                            .pull = scene.pull,
                            .optimizer = {.kind = scene.optimizer},
                            .nodes = nodes_of(scene),
                            .leaves = scene.mode == Mode::sync ? scene.leaves : 1,
                            .mode = scene.mode,
                            .aggregate = scene.aggregate};
    std::vector<float> first;
    for (const std::int64_t chunk : by_holder[index_of(ps)]) {
      const Range& range = chunks[index_of(chunk)].range;
      rules.chunks.push_back(range);
      for (std::int64_t i = range.begin; i < range.end; ++i) first.push_back(first_weight(i));
    }
    AlignedBuffer weights(first.size());
    std::ranges::copy(first, weights.data());
    std::vector<AlignedBuffer> slots;
    for (std::size_t i = 0; i < slot_names(scene.optimizer).size(); ++i) {
      slots.emplace_back(first.size());
    }
    std::optional<PushTurns::Rules> turns;
    if (scene.mode == Mode::async && ps == 0) {
      turns = {.pushes = scene.max_steps, .max_staleness = {}};
    }
    const std::int64_t own_chunks = std::ssize(rules.chunks);
    ChunkStore store(std::move(rules), weights, slots);
    auto listener = StreamSocket::listen_tcp("127.0.0.1:0");
    REQUIRE(listener.has_value());
    auto local = StreamSocket::listen_unix(
        chunk_socket_name(gang_token, static_cast<std::size_t>(ps)));
    REQUIRE(local.has_value());
    std::vector<StreamSocket> listeners;
    listeners.push_back(*std::move(listener));
    listeners.push_back(*std::move(local));
    auto server = ChunkServer::start(
        std::move(listeners),
        {.token = gang_token,
         .plan = gang_plan,
         .rules = {.mode = scene.mode,
                   .ranks = scene.ranks,
                   .chunks = own_chunks,
                   .aggregate = scene.aggregate},
         .start = {},
         .turns = turns,
         .names_steps = scene.aggregate > 0 && ps == 0,
         .step_at = [step = step_at(scene)](std::int64_t) { return step; },
         .on_snapshot =
             [this](std::int64_t step, ChunkStore::Copy copy) {
               const std::lock_guard lock(snapshots_.mutex);
               snapshots_.by_step[step].push_back(std::move(copy));
             }},
        std::move(store));
    REQUIRE(server.has_value());
    servers_.push_back(*std::move(server));
  }
}

std::vector<std::string> Servers::addresses() const {
  std::vector<std::string> addresses;
  for (const auto& server : servers_) {
    addresses.push_back("127.0.0.1:" + std::to_string(server->port()));
  }
  return addresses;
}

WorkerLink::Options link_options(const GangScene& scene, std::int64_t rank,
                                 std::vector<std::string> addresses) {
  std::optional<StepMembers> backups;
  if (scene.aggregate > 0) backups = {.ranks = scene.ranks, .aggregate = scene.aggregate};
  return {.servers = std::move(addresses),
          .tries_local = scene.local,
          .token = gang_token,
          .rank = rank,
          .plan = gang_plan,
          .arenas = {.chunks = chunks_of(scene),
                     .holders = scene.servers,
                     .parts = std::ssize(nodes_of(scene)[index_of(rank)]),
                     .push = scene.push,
                     .pull = scene.pull,
                     .shares = scene.shares},
          .mode = scene.mode,
          .max_steps = scene.max_steps,
          .asks_ahead = false,
          .backups = backups,
          .limit = patience,
          .stop = {},
          .on_sums = nullptr};
}

std::vector<float> work(const GangScene& scene, std::int64_t rank,
                        const std::vector<std::string>& addresses, const WorkerLife& life) {
  auto opened = WorkerLink::open(link_options(scene, rank, addresses));
  REQUIRE(opened.has_value());
  WorkerLink& link = **opened;
  const std::vector<Leaves> nodes = nodes_of(scene)[index_of(rank)];
  const auto elements = index_of(scene.elements);
  for (;;) {
    const auto next = link.next();
    if (!next.has_value()) throw std::runtime_error(next.error().message);
    if (next->is_over) break;
    if (life.at_step) life.at_step(link, next->step);
    if (next->step == life.snapshot_at) {
      if (link.ask_snapshot() != next->step) throw std::runtime_error("another snapshot");
    }
    for (std::int64_t end = 1; end < scene.elements; end += scene.elements / 5 + 1) {
      if (!link.await_parameters(end).has_value()) throw std::runtime_error("no parameters");
    }
    if (!link.await_parameters(scene.elements).has_value()) throw std::runtime_error("none");
    const std::vector<float> weights(link.parameters().begin(), link.parameters().end());
    for (std::size_t part = 0; part < nodes.size(); ++part) {
      const auto sum = node_gradient(nodes[part], next->step, weights);
      std::ranges::copy(sum, link.gradient().subspan(part * elements, elements).begin());
    }
    for (std::int64_t from = scene.elements * 3 / 4; from > 0; from -= scene.elements / 3) {
      link.settle(from);
    }
    if (next->step == life.dies_at) return {};
    link.settle(0);
  }
  return {link.parameters().begin(), link.parameters().end()};
}

std::vector<float> expected(const GangScene& scene, std::int64_t steps,
                            const StepRanks& made_by) {
  const auto elements = index_of(scene.elements);
  std::vector<float> weights;
  for (std::int64_t i = 0; i < scene.elements; ++i) weights.push_back(first_weight(i));
  std::vector<std::vector<float>> slots(slot_names(scene.optimizer).size(),
                                        std::vector<float>(elements));
  std::vector<std::span<float>> views(slots.begin(), slots.end());
  std::vector<float> pulled = weights;
  const auto pull = [&] {
    pulled = weights;
    if (scene.pull == Wire::bfloat16) through_bfloat16(pulled);
  };
  pull();
  std::vector<std::int64_t> all(index_of(scene.leaves));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t step = 1; step <= steps; ++step) {
    // What is rounded, is so by leaf; the tree adds what is left.
    std::vector<std::vector<float>> leaves;
    for (const std::int64_t leaf : scene.aggregate > 0 ? made_by.at(step) : all) {
      leaves.push_back(node_gradient({leaf, leaf + 1}, step, pulled));
      if (scene.push == Wire::bfloat16) through_bfloat16(leaves.back());
    }
    const std::vector<float> sum = sum_of({0, std::ssize(leaves)}, leaves);
    const ChunkStore::Step how = step_at(scene);
    apply_update({.kind = scene.optimizer}, how.learning_rate, step, how.gradient_scale, sum,
                 weights, weights, views);
    pull();
  }
  return pulled;
}

}  // namespace trainyard::runtime::test
