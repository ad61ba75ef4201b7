#include "tests/runtime/chunks/gang.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <future>
#include <numeric>

#include "runtime/core/arena_layout.h"
#include "runtime/core/partition.h"
#include "runtime/math/wire/bfloat16.h"
#include "runtime/math/wire/onebit.h"
#include "schemas/base/index.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {
namespace {

constexpr double rate = 0.01;

// Bits that nothing else has, as a float between -1 and 1.
float noise(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t bits =
      (a * 0x9E3779B97F4A7C15ULL) ^ (b * 0xC2B2AE3D27D4EB4FULL) ^ (c * 0x165667B19E3779F9ULL);
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

// By blocks of the arena, whole: nothing here knows of chunks or ps.
void through_onebit(const GangScene& scene, float residual_scale, std::span<float> values,
                    std::span<float> residual) {
  std::vector<bool> is_gap(values.size(), false);
  for (const Range& gap : gaps_of(scene)) {
    const auto end = std::min(gap.end, std::ssize(values));
    for (std::int64_t i = gap.begin; i < end; ++i) is_gap[index_of(i)] = true;
  }
  for (std::size_t begin = 0; begin < values.size(); begin += onebit_block) {
    const std::size_t count = std::min(onebit_block, values.size() - begin);
    std::vector<std::uint8_t> signs(onebit_sign_bytes(count));
    const auto first = is_gap.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto padding = std::count(first, first + static_cast<std::ptrdiff_t>(count), true);
    const OneBitMeans means =
        encode_onebit(values.subspan(begin, count), residual_scale, residual.subspan(begin, count),
                      signs, static_cast<std::size_t>(padding));
    decode_onebit(signs, means, values.subspan(begin, count));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_gap[i]) residual[i] = 0;
  }
}

// From where on a backward pass has made the gradient, in this order, but for the last: 0.
std::vector<std::int64_t> settled_from(const GangScene& scene) {
  std::vector<std::int64_t> from;
  for (const Variable& variable : variables_of(scene)) from.push_back(variable.offset);
  std::ranges::reverse(from);
  if (!from.empty()) from.pop_back();
  if (from.empty()) from = {scene.elements * 3 / 4, scene.elements * 5 / 12};
  return from;
}

}  // namespace

std::vector<Variable> variables_of(const GangScene& scene) {
  std::vector<Variable> variables;
  std::int64_t offset = 0;
  const std::size_t first_average = scene.variables.size() - scene.averages;
  for (std::size_t i = 0; i < scene.variables.size(); ++i) {
    const std::int64_t elements = scene.variables[i];
    const bool is_average = i >= first_average;
    if (is_average && i == first_average) {
      offset = (offset + chunk_block - 1) / chunk_block * chunk_block;
    }
    Variable variable{.name = "v" + std::to_string(i),
                      .shape = {elements},
                      .offset = offset,
                      .elements = elements};
    if (is_average) {
      variable.update = UpdateRule::running_average;
      variable.momentum = 0.1 + 0.05 * static_cast<double>(i % 3);
    } else if (std::ranges::find(scene.frozen, i) != scene.frozen.end()) {
      variable.update = UpdateRule::none;
    }
    variables.push_back(variable);
    offset += round_up_to_alignment(elements);
  }
  return variables;
}

GangScene with_arena_of(GangScene scene) {
  const Variable last = variables_of(scene).back();
  scene.elements = round_up_to_alignment(last.offset + last.elements);
  return scene;
}

std::int64_t state_begin_of(const GangScene& scene) {
  return std::min(runtime::state_begin_of(variables_of(scene)), scene.elements);
}

std::vector<Range> gaps_of(const GangScene& scene) {
  if (scene.variables.empty()) return {};
  return runtime::gaps_of(variables_of(scene), scene.elements);
}

std::vector<Share> shares_of(const GangScene& scene) {
  return partition_arena(scene.partitioning, variables_of(scene), scene.elements, scene.servers);
}

std::vector<ArenaChunk> chunks_of(const GangScene& scene) {
  return cut_chunks(shares_of(scene), scene.chunk_elements,
                    runtime::state_begin_of(variables_of(scene)));
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

std::vector<float> node_gradient(const GangScene& scene, Leaves node, std::int64_t step,
                                 std::span<const float> weights) {
  std::vector<std::vector<float>> leaves(index_of(node.end));
  for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    std::vector<float>& own = leaves[index_of(leaf)];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      own.push_back(leaf_gradient(leaf, step, static_cast<std::int64_t>(i), weights[i]));
    }
    for (const Range& gap : gaps_of(scene)) {
      std::fill_n(own.begin() + gap.begin, gap.size(), 0.0F);
    }
  }
  return sum_of(node, leaves);
}

float residual_scale_at(std::int64_t step) { return 1.0F - 0.25F / static_cast<float>(step); }

GangState first_state(const GangScene& scene) {
  GangState state;
  for (std::int64_t i = 0; i < scene.elements; ++i) state.weights.push_back(first_weight(i));
  std::int64_t end = scene.variables.empty() ? scene.elements : 0;  // padding is zero
  for (const Variable& variable : variables_of(scene)) {
    std::fill(state.weights.begin() + end, state.weights.begin() + variable.offset, 0.0F);
    end = variable.offset + variable.elements;
  }
  std::fill(state.weights.begin() + end, state.weights.end(), 0.0F);
  state.slots.assign(slot_names(scene.optimizer).size(),
                     std::vector<float>(index_of(scene.elements)));
  return state;
}

std::int64_t denominator_of(std::int64_t leaf, std::int64_t step) {
  return step == 3 ? 0 : 1 + (leaf * 5 + step * 3) % 7;
}

ChunkStore::UpdateScale step_at(const GangScene& scene) {
  auto leaves = scene.mode == Mode::sync ? scene.leaves : 1;
  if (scene.aggregate > 0) leaves = scene.aggregate;
  return {.learning_rate = rate, .gradient_scale = 1.0F / static_cast<float>(leaves)};
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
                     .shares = scene.shares,
                     .gaps = gaps_of(scene),
                     .state_begin = runtime::state_begin_of(variables_of(scene)),
                     .stay_rounded = scene.stay_rounded},
          .mode = scene.mode,
          .max_steps = scene.max_steps,
          .asks_ahead = false,
          .backups = backups,
          .clips = scene.clip_norm > 0,
          .limit = patience,
          .stop = {}};
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
      if (link.chief().ask_snapshot() != next->step) throw std::runtime_error("another snapshot");
    }
    for (std::int64_t end = 1; end < scene.elements; end += scene.elements / 5 + 1) {
      if (!link.await_parameters(end).has_value()) throw std::runtime_error("no parameters");
    }
    if (!link.await_parameters(scene.elements).has_value()) throw std::runtime_error("none");
    const std::span<const float> there = link.parameters_on_host();
    const std::vector<float> weights(there.begin(), there.end());
    std::vector<std::vector<float>> sums;
    for (const Leaves node : nodes) sums.push_back(node_gradient(scene, node, next->step, weights));
    BatchSums told{.examples = 1};
    for (const Leaves node : nodes) {
      for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
        told.denominator += denominator_of(leaf, next->step);
      }
    }
    link.tell_sums(next->step, told);
    link.set_residual_scale(residual_scale_at(next->step));
    // What is not settled yet is not there yet.
    const auto make = [&](std::int64_t from, std::int64_t end) {
      if (from >= end) return;
      for (std::size_t part = 0; part < nodes.size(); ++part) {
        const auto made = std::span(sums[part]).subspan(index_of(from), index_of(end - from));
        const std::size_t at = part * elements + index_of(from);
        std::ranges::copy(made, link.gradient().subspan(at).begin());
      }
    };
    const std::int64_t state = state_begin_of(scene);
    std::int64_t end = state;
    const auto settle = [&](std::int64_t from) {
      make(from, end);
      if (from == 0) make(state, scene.elements);
      end = std::min(end, from);
      link.settle(from);
    };
    for (const std::int64_t from : settled_from(scene)) settle(from);
    if (next->step == life.dies_at) return {};
    settle(0);
  }
  if (life.at_end) life.at_end(link);
  return {link.parameters().begin(), link.parameters().end()};
}

std::vector<std::vector<float>> work_all(const GangScene& scene,
                                         const std::vector<std::string>& addresses,
                                         std::int64_t snapshot_at) {
  std::vector<std::future<std::vector<float>>> lives;
  for (std::int64_t rank = 0; rank < scene.ranks; ++rank) {
    const WorkerLife life{.snapshot_at = rank == 0 ? snapshot_at : 0};
    lives.push_back(std::async(std::launch::async,
                               [&, rank, life] { return work(scene, rank, addresses, life); }));
  }
  std::vector<std::vector<float>> ends;
  for (auto& life : lives) ends.push_back(life.get());
  return ends;
}

std::vector<float> expected(const GangScene& scene, std::int64_t steps, const StepRanks& made_by) {
  auto [version, weights, slots, residuals] = first_state(scene);
  residuals.clear();
  std::vector<std::span<float>> views(slots.begin(), slots.end());
  std::vector<float> pulled = weights;
  const std::size_t state = index_of(state_begin_of(scene));
  const auto pull = [&](std::int64_t version) {
    pulled = weights;
    if (scene.pull != Wire::bfloat16 || version == scene.max_steps) return;
    through_bfloat16(std::span(pulled).first(state));
  };
  pull(0);
  std::vector<std::int64_t> all(index_of(scene.leaves));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t step = 1; step <= steps; ++step) {
    // What is rounded, is so by leaf; the tree adds what is left.
    std::vector<std::vector<float>> leaves;
    for (const std::int64_t leaf : scene.aggregate > 0 ? made_by.at(step) : all) {
      leaves.push_back(node_gradient(scene, {leaf, leaf + 1}, step, pulled));
      const auto travels = std::span(leaves.back()).first(state);
      if (scene.push == Wire::bfloat16) through_bfloat16(travels);
      if (scene.push != Wire::onebit) continue;
      residuals[leaf].resize(state);
      through_onebit(scene, residual_scale_at(step), travels, residuals[leaf]);
    }
    const std::vector<float> sum = sum_of({0, std::ssize(leaves)}, leaves);
    const ChunkStore::UpdateScale how = step_at(scene);
    float scale = how.gradient_scale;
    if (scene.mean_over == MeanOver::tokens) {
      std::int64_t denominator = 0;
      for (const std::int64_t leaf : scene.aggregate > 0 ? made_by.at(step) : all) {
        denominator += denominator_of(leaf, step);
      }
      scale = denominator == 0 ? 0.0F : 1.0F / static_cast<float>(denominator);
    }
    if (scene.clip_norm > 0) {
      ExactSum squares;
      ArenaUpdate(variables_of(scene), DecayedVariables::all).add_squares(0, sum, squares);
      scale *= clip_factor(squares.value(), scale, scene.clip_norm);
    }
    const std::vector<float> before = weights;
    const std::vector<std::vector<float>> slots_before = slots;
    apply_update({.kind = scene.optimizer}, how.learning_rate, step, scale, sum, weights, weights,
                 views);
    const auto undo = [](const Variable& variable, const std::vector<float>& from, auto& to) {
      std::copy_n(from.begin() + variable.offset, variable.elements, to.begin() + variable.offset);
    };
    for (const Variable& variable : variables_of(scene)) {
      if (variable.update == UpdateRule::optimizer) continue;
      undo(variable, before, weights);
      for (std::size_t i = 0; i < slots.size(); ++i) undo(variable, slots_before[i], slots[i]);
      if (variable.update == UpdateRule::none) continue;
      const auto momentum = static_cast<float>(variable.momentum);
      for (std::int64_t at = 0; at < variable.elements; ++at) {
        float& average = weights[index_of(variable.offset + at)];
        const float mean = sum[index_of(variable.offset + at)] * how.gradient_scale;
        average = average + momentum * (mean - average);
      }
    }
    pull(step);
  }
  return pulled;
}

}  // namespace trainyard::runtime::test
