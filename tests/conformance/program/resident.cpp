#include "tests/conformance/program/resident.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/graph/resident_arena.h"
#include "runtime/model/model.h"
#include "runtime/model/node_sums.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {
namespace {

constexpr Leaves node{0, 3};

// A model with what its optimizer keeps.
struct Learner {
  Learner(const Trained& network, const OptimizerConfig& by, Device* device)
      : model(*Model::build(network.written, network.data,
                            {.batch_size = network.examples,
                             .seed = 3,
                             .team = {.threads = device == nullptr ? 1 : 4},
                             .device = device})),
        optimizer(by),
        rules(model.variables(), DecayedVariables::matrices),
        weights(static_cast<std::size_t>(model.arena_elements())),
        gradient(weights.size()) {
    model.initialize(1, weights.span());
    for (std::size_t i = 0; i < slot_names(by.kind).size(); ++i) slots.emplace_back(weights.size());
  }

  Model model;
  OptimizerConfig optimizer;
  ArenaUpdate rules;
  AlignedBuffer weights;
  AlignedBuffer gradient;
  std::vector<AlignedBuffer> slots;
};

UpdateStep update_step(const Trained& network, std::int64_t number) {
  const auto examples = static_cast<float>(network.examples * node.count());
  return {.learning_rate = 0.001,
          .number = number,
          .gradient_scale = 1 / examples,
          .average_scale = 1 / examples};
}

Batch leaf_of_step(const Trained& network, std::int64_t step, std::int64_t leaf) {
  return batch_of(network, static_cast<int>(step * node.count() + leaf));
}

void step_on_cpu(Learner& of, const Trained& network, std::int64_t number) {
  NodeSums sums({.elements = of.weights.size(), .state = of.weights.size()});
  RowGradients rows;
  const auto leaf = [&](std::int64_t at, NodeSum sum) -> ::trainyard::Result<bool> {
    of.model.gradient(of.weights.span(), leaf_of_step(network, number, at), sum.dense);
    return true;
  };
  if (!sums.add_up(node, {of.gradient.span(), rows}, leaf)) return;
  std::vector<std::span<float>> slots;
  for (AlignedBuffer& slot : of.slots) slots.push_back(slot.span());
  of.rules.apply(of.optimizer, update_step(network, number), 0,
                 {.gradient = of.gradient.span(),
                  .weights = of.weights.span(),
                  .out = of.weights.span(),
                  .slots = slots});
}

void step_on_device(Learner& of, ResidentArena& resident, const Trained& network,
                    std::int64_t number) {
  for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    GradientCallbacks news;
    news.leaf = {.is_first = leaf == node.begin,
                 .is_last = leaf + 1 == node.end,
                 .ends = nodes_that_end_with(leaf, node)};
    of.model.gradient(of.weights.span(), leaf_of_step(network, number, leaf), of.gradient.span(),
                      news);
  }
  resident.update(of.rules, of.optimizer, update_step(network, number));
}

// Of one batch that lies in memory; half a second, so that a GPU has left its rest.
double steps_per_second(Learner& of, ResidentArena& resident, const Trained& network) {
  const Batch batch = batch_of(network, 0);
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> taken{};
  std::int64_t steps = 0;
  while (steps < 2 || taken.count() < 0.5) {
    of.model.gradient(of.weights.span(), batch, of.gradient.span());
    resident.update(of.rules, of.optimizer, update_step(network, 100));
    ++steps;
    taken = std::chrono::steady_clock::now() - begin;
  }
  return static_cast<double>(steps) / taken.count();
}

bool are_equal(const AlignedBuffer& a, const AlignedBuffer& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.span().size_bytes()) == 0;
}

bool is_same(const Learner& a, const Learner& b) {
  bool same = are_equal(a.weights, b.weights);
  for (std::size_t i = 0; i < a.slots.size(); ++i) same &= are_equal(a.slots[i], b.slots[i]);
  return same;
}

// Of the newest gradient, as clip_norm asks for them.
bool have_same_squares(const Learner& here, const Learner& there, ResidentArena& resident) {
  ExactSum of_cpu;
  ExactSum of_device;
  here.rules.add_squares(0, here.gradient.span(), of_cpu);
  resident.add_squares(there.rules, of_device);
  return of_cpu == of_device;
}

}  // namespace

int compare_residents(std::span<const Trained> networks, Device& device, int steps) {
  std::printf("parameters on the device, %d steps of %d leaves\n%-10s %9s %6s %12s\n", steps,
              static_cast<int>(node.count()), "model", "optimizer", "bytes", "steps/s");
  int different = 0;
  int kind = 0;
  for (const Trained& network : networks) {
    const OptimizerConfig optimizer{.kind = static_cast<OptimizerKind>(kind++ % 8),
                                    .weight_decay = 0.01F};
    Learner here(network, optimizer, nullptr);
    Learner there(network, optimizer, &device);
    const auto resident = there.model.reside(there.weights.span(), there.slots);
    if (resident == nullptr || !there.model.adds_up(node.count())) {
      std::printf("%-10s has no room\n", network.name.c_str());
      ++different;
      continue;
    }
    for (std::int64_t step = 1; step <= steps; ++step) {
      step_on_cpu(here, network, step);
      step_on_device(there, *resident, network, step);
    }
    resident->fetch_weights(there.weights.span());
    resident->fetch_slots(there.slots);
    const bool same = is_same(here, there) && have_same_squares(here, there, *resident);
    different += same ? 0 : 1;
    std::printf("%-10s %9d %6s %12.1f\n", network.name.c_str(), static_cast<int>(optimizer.kind),
                same ? "equal" : "DIFFER", steps_per_second(there, *resident, network));
    std::fflush(stdout);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
