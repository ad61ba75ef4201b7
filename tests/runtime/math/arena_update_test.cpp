#include "runtime/math/optim/arena_update.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "schemas/base/index.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t elements = 3000;
constexpr UpdateStep third_step{
    .learning_rate = 0.05, .number = 3, .gradient_scale = 0.25F, .average_scale = 0.125F};
const OptimizerConfig adam{.kind = OptimizerKind::adam, .weight_decay = 0.1F};

// Kernel, bias, a frozen kernel, a scale; then two averages of one momentum, and one of another.
std::vector<Variable> mixed_variables() {
  using enum UpdateRule;
  return {{.name = "a/kernel", .shape = {50, 10}, .offset = 0, .elements = 500},
          {.name = "a/bias", .shape = {10}, .offset = 512, .elements = 10},
          {.name = "b/kernel", .shape = {20, 20}, .offset = 528, .elements = 400, .update = none},
          {.name = "b/scale", .shape = {100}, .offset = 928, .elements = 96},
          {"b/mean", {500}, 1024, 500, running_average, 0.1},
          {"b/variance", {500}, 1536, 500, running_average, 0.1},
          {"c/mean", {900}, 2048, 900, running_average, 0.5}};
}

struct Arena {
  std::vector<float> weights = random_floats(index_of(elements), 1);
  std::vector<std::vector<float>> slots{random_floats(index_of(elements), 2),
                                        std::vector<float>(index_of(elements), 0.5F)};
};

// Of [begin, end), into other memory where `out` is given.
void apply(const ArenaUpdate& update, Arena& arena, std::int64_t begin, std::int64_t end,
           std::span<float> out = {}) {
  const std::vector<float> gradient = random_floats(index_of(elements), 3);
  const auto part = [&](auto& values) {
    return std::span(values).subspan(index_of(begin), index_of(end - begin));
  };
  std::vector<std::span<float>> slots;
  for (auto& slot : arena.slots) slots.push_back(part(slot));
  const std::span<float> weights = part(arena.weights);
  update.apply(adam, third_step, begin,
               {.gradient = part(gradient),
                .weights = weights,
                .out = out.empty() ? weights : out,
                .slots = slots});
}

void check_same(const Arena& a, const Arena& b) {
  require_same_bits(a.weights, b.weights);
  for (std::size_t i = 0; i < a.slots.size(); ++i) require_same_bits(a.slots[i], b.slots[i]);
}

// By the definition of the rules, an element at a time.
Arena by_element(DecayedVariables decayed) {
  Arena arena;
  const std::vector<float> gradient = random_floats(index_of(elements), 3);
  for (const Variable& variable : mixed_variables()) {
    for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
      const std::size_t at = index_of(i);
      float& weight = arena.weights[at];
      if (variable.update == UpdateRule::none) continue;
      if (variable.update == UpdateRule::running_average) {
        const auto momentum = static_cast<float>(variable.momentum);
        weight += momentum * (gradient[at] * third_step.average_scale - weight);
        continue;
      }
      OptimizerConfig config = adam;
      const bool is_matrix = variable.shape.size() == 2;
      if (decayed == DecayedVariables::matrices && !is_matrix) config.weight_decay = 0;
      const std::array<std::span<float>, 2> slots{std::span(&arena.slots[0][at], 1),
                                                  std::span(&arena.slots[1][at], 1)};
      apply_update(config, third_step.learning_rate, third_step.number, third_step.gradient_scale,
                   {&gradient[at], 1}, {&weight, 1}, {&weight, 1}, slots);
    }
  }
  return arena;
}

}  // namespace

TEST_CASE("each variable of an arena changes by its own rule, and slots with the optimizer alone",
          "[arena_update]") {
  for (const auto decayed : {DecayedVariables::all, DecayedVariables::matrices}) {
    const ArenaUpdate update(mixed_variables(), decayed);
    const Arena wanted = by_element(decayed);
    Arena made;
    apply(update, made, 0, elements);
    for (const Variable& variable : mixed_variables()) {
      INFO(variable.name);
      const auto of = [&](const std::vector<float>& values) {
        return std::span(values).subspan(index_of(variable.offset), index_of(variable.elements));
      };
      require_same_bits(of(made.weights), of(wanted.weights));
      for (std::size_t i = 0; i < 2; ++i) require_same_bits(of(made.slots[i]), of(wanted.slots[i]));
    }
  }
  CHECK(by_element(DecayedVariables::all).weights !=
        by_element(DecayedVariables::matrices).weights);
}

TEST_CASE("an arena's update is the same to the bit however the arena is cut", "[arena_update]") {
  const ArenaUpdate update(mixed_variables(), DecayedVariables::matrices);
  Arena whole;
  apply(update, whole, 0, elements);
  for (const std::int64_t step : {1, 7, 64, 512, 1000, 1024}) {
    Arena cut;
    for (std::int64_t at = 0; at < elements; at += step) {
      apply(update, cut, at, std::min(at + step, elements));
    }
    check_same(cut, whole);
  }
}

TEST_CASE("an arena's update into other memory is the same, and leaves the weights",
          "[arena_update]") {
  const ArenaUpdate update(mixed_variables(), DecayedVariables::all);
  Arena in_place;
  Arena apart;
  std::vector<float> out(index_of(elements), NAN);
  apply(update, in_place, 0, elements);
  apply(update, apart, 0, elements, out);
  require_same_bits(out, in_place.weights);
  require_same_bits(apart.weights, Arena().weights);
}

TEST_CASE("without variables of another kind all of an arena is the optimizer's",
          "[arena_update]") {
  std::vector<Variable> plain = mixed_variables();
  for (Variable& variable : plain) variable.update = UpdateRule::optimizer;
  Arena by_default;
  apply({}, by_default, 0, elements);
  Arena made;
  apply(ArenaUpdate(plain, DecayedVariables::all), made, 0, elements);
  check_same(made, by_default);
}

TEST_CASE("padding stays zero under every rule", "[arena_update]") {
  const std::vector<float> zeros(index_of(elements));
  Arena arena{.weights = zeros, .slots = {zeros, zeros}};
  std::vector<std::span<float>> slots(arena.slots.begin(), arena.slots.end());
  ArenaUpdate(mixed_variables(), DecayedVariables::matrices)
      .apply(adam, third_step, 0,
             {.gradient = zeros, .weights = arena.weights, .out = arena.weights, .slots = slots});
  check_same(arena, {.weights = zeros, .slots = {zeros, zeros}});
}

TEST_CASE("ten steps with the decay of matrices alone are PyTorch's, and its running averages",
          "[arena_update][golden]") {
  const auto golden = load_golden("arena_updates.json");
  for (const auto& reference : golden["decay"]) {
    const std::int64_t kernel = reference["kernel"];
    std::vector<float> weights = reference["start"];
    const ArenaUpdate update(
        std::vector<Variable>{
            {.name = "kernel", .shape = {kernel / 4, 4}, .offset = 0, .elements = kernel},
            {.name = "bias", .shape = {4}, .offset = kernel, .elements = 4}},
        DecayedVariables::matrices);
    const bool is_adamw = reference["name"] == "adamw";
    const OptimizerConfig config{.kind = is_adamw ? OptimizerKind::adamw : OptimizerKind::momentum,
                                 .weight_decay = reference["weight_decay"]};
    std::vector<std::vector<float>> memory(slot_names(config.kind).size(),
                                           std::vector<float>(weights.size()));
    const std::vector<std::span<float>> slots(memory.begin(), memory.end());
    for (std::size_t step = 0; step < 10; ++step) {
      INFO(reference["name"] << ", step " << step + 1);
      const std::vector<float> gradient = reference["gradients"][step];
      update.apply(config, {.learning_rate = 0.1, .number = static_cast<std::int64_t>(step) + 1}, 0,
                   {.gradient = gradient, .weights = weights, .out = weights, .slots = slots});
      require_close(weights, reference["weights"][step].get<std::vector<float>>(), 3e-6);
    }
  }

  const auto& averages = golden["averages"];
  const std::int64_t channels = averages["channels"];
  const ArenaUpdate update(
      std::vector<Variable>{
          {"mean", {channels}, 0, channels, UpdateRule::running_average, averages["momentum"]},
          {"variance",
           {channels},
           channels,
           channels,
           UpdateRule::running_average,
           averages["momentum"]}},
      DecayedVariables::all);
  std::vector<float> state = averages["start"];
  for (std::size_t step = 0; step < averages["sums"].size(); ++step) {
    const std::vector<float> sums = averages["sums"][step];
    update.apply({}, {.number = 1, .average_scale = averages["gradient_scale"]}, 0,
                 {.gradient = sums, .weights = state, .out = state, .slots = {}});
    require_close(state, averages["states"][step].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("squares are those of what the optimizer updates, however the arena is cut",
          "[arena_update]") {
  const ArenaUpdate update(mixed_variables(), DecayedVariables::all);
  const std::vector<float> gradient = random_floats(index_of(elements), 3);
  double wanted = 0;
  for (const Variable& variable : mixed_variables()) {
    if (variable.update != UpdateRule::optimizer) continue;
    for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
      wanted += std::pow(static_cast<double>(gradient[index_of(i)]), 2);
    }
  }
  // Padding holds numbers, too.
  ExactSum whole;
  update.add_squares(0, gradient, whole);
  CHECK(whole.value() == Approx(wanted).epsilon(1e-14));
  for (const std::int64_t step : {16, 48, 512, 1008}) {
    ExactSum cut;
    for (std::int64_t at = (elements - 1) / step * step; at >= 0; at -= step) {
      const auto count = std::min(step, elements - at);
      update.add_squares(at, std::span(gradient).subspan(index_of(at), index_of(count)), cut);
    }
    CHECK(cut.value() == whole.value());
  }
}

// torch.nn.utils.clip_grad_norm_ of a mean gradient (3, 4): the norm is 5.
TEST_CASE("a gradient is clipped as PyTorch clips it", "[arena_update]") {
  CHECK(clip_factor(25, 1, 5) == 1);
  CHECK(clip_factor(25, 1, 7) == 1);
  CHECK(clip_factor(25, 1, 2) == Approx(2 / (5 + 1e-6)).epsilon(1e-7));
  CHECK(clip_factor(2500, 0.1F, 2) == Approx(2 / (5 + 1e-6)).epsilon(1e-6));
  CHECK(clip_factor(0, 1, 2) == 1);
  CHECK(std::isnan(clip_factor(std::nan(""), 1, 2)));
}

}  // namespace trainyard::runtime
