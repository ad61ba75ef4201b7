#include "runtime/role/job_plan.h"

#include <catch2/catch.hpp>

#include "schemas/wire/job_spec_json.h"

namespace trainyard::runtime {

TEST_CASE("tasks whose hosts have other classes, or other names for them, are of other plans",
          "[job_plan]") {
  const auto parsed = parse_job_spec(
      R"({"model": {"name": "mlp", "hidden": [4]},
          "dataset": {"name": "points", "format": "csv", "path": "/points.csv"},
          "training": {"optimizer": {"name": "sgd", "learning_rate": 0.1}, "max_steps": 2}})");
  const auto* const spec = std::get_if<JobSpec>(&parsed);
  REQUIRE(spec != nullptr);
  const auto hash_with = [&](std::vector<std::string> names) {
    const auto plan = plan_job(
        *spec,
        {.example = {.example = {3}, .features = 3, .classes = 2, .class_names = std::move(names)},
         .train_examples = 10},
        leaf_examples(*spec));
    REQUIRE(plan);
    return plan->hash();
  };
  CHECK(hash_with({"cat", "dog"}) == hash_with({"cat", "dog"}));
  CHECK(hash_with({"cat", "dog"}) != hash_with({"cat", "fox"}));
  CHECK(hash_with({"cat", "dog"}) != hash_with({}));
  CHECK(hash_with({"ca", "tdog"}) != hash_with({"cat", "dog"}));
}

}  // namespace trainyard::runtime
