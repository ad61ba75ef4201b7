// No task computes with denormal numbers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "schemas/wire/model_json.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime::test {

TEST_CASE("a weight that begins as a denormal number is zero in the model", "[job]") {
  // Nothing reaches the second layer's kernel: nothing but this could change it.
  JobSpec spec = small_job();
  spec.training.optimizer.name = OptimizerName::sgd;
  spec.training.max_steps = 2;
  std::vector<Fault> faults;
  const auto model = model::parse_model(nlohmann::json::parse(R"({
      "layers": ["flatten", {"op": "dense", "units": 4, "init": "zeros"},
                 {"op": "dense", "units": "classes", "init": {"name": "constant", "value": 1e-40}}],
      "loss": "softmax_cross_entropy"})"),
                                        "/model", faults);
  REQUIRE(faults.empty());
  spec.model = *model;
  Job job(spec);
  run(job);
  const std::vector<float> weights = job.final_weights();
  CHECK(std::ranges::none_of(weights,
                             [](float value) { return std::fpclassify(value) == FP_SUBNORMAL; }));
  CHECK(std::ranges::any_of(weights, [](float value) { return value != 0; }));  // the last bias
}

}  // namespace trainyard::runtime::test
