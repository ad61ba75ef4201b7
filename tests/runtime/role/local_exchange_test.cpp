// Parameters in the worker's own process, among them state and what is frozen.
#include "runtime/role/local_exchange.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t state_begin = 5120;
constexpr std::int64_t arena_elements = 6160;
constexpr float scale = 0.125F;

const std::vector<Variable> variables{
    {.name = "kernel", .shape = {50, 100}, .offset = 0, .elements = 5000},
    {.name = "frozen", .shape = {60}, .offset = 5008, .elements = 60, .update = UpdateRule::none},
    {"mean", {1030}, state_begin, 1030, UpdateRule::running_average, 0.1}};

float value_of(std::int64_t step, std::int64_t element) {
  return std::sin(static_cast<float>(step * 7919 + element));
}

LocalExchange exchange_of_four_steps(MeanOver mean_over = MeanOver::examples,
                                     const Threads& threads = {}) {
  AlignedBuffer weights(index_of(arena_elements));
  for (std::int64_t i = 0; i < arena_elements; ++i) weights.span()[index_of(i)] = value_of(0, i);
  std::vector<AlignedBuffer> slots;
  slots.emplace_back(weights.size());
  return {{.optimizer = {.kind = OptimizerKind::momentum},
           .update = ArenaUpdate(variables, DecayedVariables::all),
           .state_begin = state_begin,
           .max_steps = 4,
           .mean_over = mean_over,
           .gradient_scale = scale,
           .learning_rate_at = [](std::int64_t) { return 0.5; },
           .threads = threads},
          {.version = 0, .weights = std::move(weights), .slots = std::move(slots)},
          std::nullopt,
          {}};
}

void write_gradient(LocalExchange& exchange, std::int64_t step) {
  for (std::int64_t i = 0; i < arena_elements; ++i) {
    exchange.gradient()[index_of(i)] = value_of(step, i);
  }
}

}  // namespace

TEST_CASE("a local step gives the same bytes for any number of threads", "[local_exchange]") {
  LocalExchange alone = exchange_of_four_steps();
  ThreadTeam team({.threads = 3, .least_nanoseconds = 0});
  LocalExchange together = exchange_of_four_steps(MeanOver::examples, team);
  for (std::int64_t step = 1; step <= 4; ++step) {
    for (LocalExchange* const exchange : {&alone, &together}) {
      write_gradient(*exchange, step);
      exchange->settle(0);
    }
    CHECK(std::ranges::equal(alone.parameters().arena, together.parameters().arena));
  }
}

TEST_CASE("a local step moves averages, keeps what is frozen, and optimizes the rest",
          "[local_exchange]") {
  const auto mean_over = GENERATE(MeanOver::examples, MeanOver::tokens);
  LocalExchange exchange = exchange_of_four_steps(mean_over);
  std::vector<float> wanted(exchange.parameters().arena.begin(), exchange.parameters().arena.end());
  std::vector<float> velocity(wanted.size());
  for (std::int64_t step = 1; step <= 4; ++step) {
    REQUIRE(exchange.next()->step == step);
    write_gradient(exchange, step);
    const std::int64_t tokens = step == 2 ? 0 : 3 * step;
    exchange.tell_sums(step, {.examples = 8, .denominator = tokens});
    exchange.settle(5008);
    exchange.settle(0);
    CHECK(exchange.is_finite());
    const float own = tokens == 0 ? 0.0F : 1.0F / static_cast<float>(tokens);
    for (const Variable& variable : variables) {
      for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
        const std::size_t at = index_of(i);
        const float mean = value_of(step, i) * scale;
        if (variable.update == UpdateRule::running_average)
          wanted[at] += 0.1F * (mean - wanted[at]);
        if (variable.update != UpdateRule::optimizer) continue;
        const bool is_of_tokens = mean_over == MeanOver::tokens;
        velocity[at] = 0.9F * velocity[at] + (is_of_tokens ? value_of(step, i) * own : mean);
        wanted[at] -= 0.5F * velocity[at];
      }
    }
  }
  for (const Variable& variable : variables) {
    INFO(variable.name);
    for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
      REQUIRE(exchange.parameters().arena[index_of(i)] == wanted[index_of(i)]);
    }
  }
  CHECK(exchange.next()->is_over);
}

TEST_CASE("a sum of state that is no number makes no local step", "[local_exchange]") {
  LocalExchange exchange = exchange_of_four_steps();
  write_gradient(exchange, 1);
  exchange.gradient()[index_of(state_begin + 5)] = INFINITY;
  const std::vector<float> before(exchange.parameters().arena.begin(),
                                  exchange.parameters().arena.end());

  exchange.settle(0);

  CHECK_FALSE(exchange.is_finite());
  CHECK(exchange.next()->step == 1);
  CHECK(std::ranges::equal(exchange.parameters().arena, before));
}

}  // namespace trainyard::runtime
