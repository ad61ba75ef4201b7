// Jobs with attention: what is dropped within it, and what is computed again, depends on no number
// of processes.
#include <catch2/catch.hpp>

#include "schemas/wire/model_json.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime::test {

namespace {

// The rows of a digit, one after another.
model::Written transformer(bool recomputes) {
  auto text = nlohmann::json::parse(R"({
      "layers": [{"op": "reshape", "shape": [28, 28]}, {"op": "dense", "units": 16}, "positions",
                 {"repeat": 2, "layers": [
                    {"residual": ["layer_norm", {"op": "attention", "heads": 2, "dropout": 0.1}]},
                    {"residual": ["layer_norm", {"op": "dense", "units": 32, "activation": "gelu"},
                                  {"op": "dropout", "rate": 0.1}, {"op": "dense", "units": 16}]}]},
                 "layer_norm", {"op": "reduce", "kind": "mean", "axes": [0]},
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy", "metrics": ["accuracy"]})");
  if (recomputes) text["layers"][3]["recompute"] = true;
  std::vector<Fault> faults;
  const auto model = model::parse_model(text, "/model", faults);
  REQUIRE(faults.empty());
  return *model;
}

std::vector<float> final_weights_of(bool recomputes, std::int64_t ps, std::int64_t workers) {
  JobSpec spec = micro_batch_job(workers, ps);
  spec.model = transformer(recomputes);
  spec.training.max_steps = 12;
  if (ps == 0 && workers == 1) spec.training.strategy = Strategy::local;
  Job job(spec);
  run(job);
  return job.final_weights();
}

}  // namespace

TEST_CASE(
    "a job with attention ends with the same bytes, recomputed or kept, for any number of "
    "processes",
    "[job][transformer_job]") {
  const std::vector<float> weights = final_weights_of(false, 0, 1);
  CHECK(final_weights_of(true, 0, 1) == weights);
  CHECK(final_weights_of(true, 2, 3) == weights);
  CHECK(final_weights_of(true, 0, 2) == weights);
}

}  // namespace trainyard::runtime::test
