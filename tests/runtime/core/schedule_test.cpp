#include "runtime/core/schedule.h"

#include <catch2/catch.hpp>

#include "tests/golden/golden.h"

namespace trainyard::runtime {

namespace {

OptimizerSpec spec_of(const nlohmann::json& reference) {
  OptimizerSpec spec;
  spec.learning_rate = reference["learning_rate"];
  spec.schedule.warmup_steps = reference["warmup_steps"];
  const std::string name = reference["name"];
  if (name == "step") {
    spec.schedule.name = ScheduleName::step;
    spec.schedule.step_size = 3;
    spec.schedule.gamma = 0.5;
  }
  if (name == "cosine") {
    spec.schedule.name = ScheduleName::cosine;
    spec.schedule.final_fraction = 0.1;
  }
  return spec;
}

}  // namespace

TEST_CASE("learning rates follow PyTorch's schedules, after the warm-up", "[schedule]") {
  for (const auto& reference : load_golden("schedules.json")) {
    const OptimizerSpec spec = spec_of(reference);
    const std::int64_t max_steps = reference["max_steps"];
    for (std::int64_t step = 1; step <= max_steps; ++step) {
      INFO(reference["name"] << " at step " << step);
      const double expected = reference["rates"][static_cast<std::size_t>(step - 1)];
      REQUIRE(learning_rate_at(spec, step, max_steps) == Approx(expected).epsilon(1e-9));
    }
  }
}

TEST_CASE("cosine ends at its final fraction and stays there", "[schedule]") {
  OptimizerSpec spec;
  spec.learning_rate = 1.0;
  spec.schedule.name = ScheduleName::cosine;
  spec.schedule.final_fraction = 0.25;

  REQUIRE(learning_rate_at(spec, 1, 10) == 1.0);
  REQUIRE(learning_rate_at(spec, 10, 10) == 0.25);
  REQUIRE(learning_rate_at(spec, 11, 10) == 0.25);
  REQUIRE(learning_rate_at(spec, 1, 1) == 1.0);
}

TEST_CASE("the last step of a warm-up reaches the whole rate", "[schedule]") {
  OptimizerSpec spec;
  spec.learning_rate = 0.4;
  spec.schedule.warmup_steps = 4;

  REQUIRE(learning_rate_at(spec, 1, 100) == 0.1);
  REQUIRE(learning_rate_at(spec, 4, 100) == 0.4);
  REQUIRE(learning_rate_at(spec, 5, 100) == 0.4);
}

TEST_CASE("a residual counts for as much when the learning rate changes", "[schedule]") {
  OptimizerSpec optimizer;
  optimizer.learning_rate = 0.5;
  optimizer.schedule = {.name = ScheduleName::step, .step_size = 10, .gamma = 0.5};
  for (const OptimizerName name :
       {OptimizerName::sgd, OptimizerName::momentum, OptimizerName::nesterov}) {
    optimizer.name = name;
    CHECK(residual_scale(optimizer, 9, 10, 100) == 1.0F);
    CHECK(residual_scale(optimizer, 10, 11, 100) == 2.0F);
    CHECK(residual_scale(optimizer, 8, 25, 100) == 4.0F);  // async: others pushed in between
    CHECK(residual_scale(optimizer, 0, 1, 100) == 1.0F);   // there is none yet
  }
  optimizer.name = OptimizerName::adam;
  CHECK(residual_scale(optimizer, 10, 11, 100) == 1.0F);
  optimizer.name = OptimizerName::sgd;
  optimizer.schedule = {.name = ScheduleName::cosine, .final_fraction = 0};
  CHECK(learning_rate_at(optimizer, 100, 100) == 0);
  CHECK(residual_scale(optimizer, 99, 100, 100) == 1.0F);
}

}  // namespace trainyard::runtime
