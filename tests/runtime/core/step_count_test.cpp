// Epochs into steps.
#include "runtime/core/step_count.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

JobSpec spec_of(Mode mode, std::optional<std::int64_t> epochs, std::optional<std::int64_t> steps) {
  JobSpec spec;
  spec.mode = mode;
  spec.worker.replicas = 2;
  spec.training.batch_size = 100;
  spec.training.epochs = epochs;
  spec.training.max_steps = steps;
  return spec;
}

}  // namespace

TEST_CASE("a sync step takes a batch of every worker, an async step one batch", "[step_count]") {
  CHECK(step_count(spec_of(Mode::sync, 20, {}), 20'000) == 2000);
  CHECK(step_count(spec_of(Mode::async, 20, {}), 20'000) == 4000);
}

TEST_CASE("a chief of its own is one more batch", "[step_count]") {
  JobSpec spec = spec_of(Mode::sync, 3, {});
  spec.chief = RoleSpec{.replicas = 1, .resources = {}, .placement = PlacementPolicy::pack};
  CHECK(step_count(spec, 1000) == 10);
}

TEST_CASE("of epochs and max_steps the first reached ends the job", "[step_count]") {
  CHECK(step_count(spec_of(Mode::sync, 20, 50), 20'000) == 50);
  CHECK(step_count(spec_of(Mode::sync, 1, 500), 20'000) == 100);
  CHECK(step_count(spec_of(Mode::sync, {}, 500), 20'000) == 500);
}

TEST_CASE("less data than one step is still one step", "[step_count]") {
  CHECK(step_count(spec_of(Mode::sync, 1, {}), 7) == 1);
}

}  // namespace trainyard::runtime
