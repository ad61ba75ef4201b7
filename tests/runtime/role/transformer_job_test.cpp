// Jobs with attention: what is dropped within it, and what is computed again, depends on no number
// of processes.
#include <catch2/catch.hpp>
#include <cmath>

#include "schemas/wire/model_json.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/temp_folder.h"

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

TEST_CASE("a job with attention ends with the same bytes for any number of cpus of its workers",
          "[job][threads]") {
  const auto weights_with = [](std::int64_t cpus, std::int64_t ps) {
    JobSpec spec = micro_batch_job(1, ps);
    spec.model = transformer(true);
    if (ps == 0) spec.training.strategy = Strategy::local;
    spec.training.global_batch_size = 128;
    spec.training.micro_batch_size = 64;
    spec.training.max_steps = 4;
    spec.worker.resources.cpus = cpus;
    Job job(spec);
    run(job);
    return job.final_weights();
  };
  const std::vector<float> weights = weights_with(1, 0);
  CHECK(weights_with(3, 0) == weights);
  CHECK(weights_with(2, 1) == weights);
}

TEST_CASE(
    "a job with attention ends with the same bytes, recomputed or kept, for any number of "
    "processes",
    "[job][transformer_job]") {
  const std::vector<float> weights = final_weights_of(false, 0, 1);
  CHECK(final_weights_of(true, 0, 1) == weights);
  CHECK(final_weights_of(true, 2, 3) == weights);
  CHECK(final_weights_of(true, 0, 2) == weights);
}

namespace {

// Words that follow one another by a rule, so that a letter's next can be learned.
void write_text(const TempFolder& folder) {
  const std::vector<std::string> words{"train ", "yard ", "steam ", "rail ", "engine "};
  std::string text;
  for (std::size_t i = 0; i < 3000; ++i) text += words[(i * i + i / 7) % words.size()];
  folder.write("train.txt", text);
}

// The norm of a step's gradient is above what is allowed at times.
JobSpec gpt_job(const TempFolder& folder, std::int64_t workers, std::int64_t ps) {
  const auto parsed = parse_job_spec(
      R"({"model": {"name": "gpt", "width": 16, "heads": 2, "depth": 2, "dropout": 0.1},
          "dataset": {"name": "words", "format": "tokens", "path": ")" +
      folder.path("train.txt") + R"(", "test_fraction": 0.1,
                      "length": 24, "tokenizer": {"name": "bytes"}},
          "training": {"global_batch_size": 24, "micro_batch_size": 4, "max_steps": 60,
                       "optimizer": {"name": "adamw", "learning_rate": 0.01, "decay": "matrices",
                                     "clip_norm": 0.5,
                                     "weight_decay": 0.01}}})");
  return with_tasks(parsed, workers, ps);
}

}  // namespace

TEST_CASE("a gpt learns what follows, the same for any number of processes",
          "[job][transformer_job]") {
  const TempFolder folder;
  write_text(folder);
  Job alone(gpt_job(folder, 1, 0));
  run(alone);
  const auto last = last_of<MetricEvent>(alone, "worker/0").values;
  REQUIRE(last.contains("test_perplexity"));
  CHECK(last.at("test_perplexity") == Approx(std::exp(last.at("test_loss"))));
  CHECK(last.at("test_loss") < 2.5);  // of 5.5 at first: a mean over tokens, not over examples
  for (const auto& [workers, ps] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 1}, {3, 2}, {4, 2}, {3, 0}}) {
    INFO(workers << " workers, " << ps << " ps");
    Job shared(gpt_job(folder, workers, ps));
    run(shared);
    CHECK(shared.final_weights() == alone.final_weights());
    CHECK(last_of<MetricEvent>(shared, "worker/0").values.at("test_loss") == last.at("test_loss"));
  }
}

TEST_CASE("async each push is clipped by itself: of one worker that is each step",
          "[job][transformer_job]") {
  const TempFolder folder;
  write_text(folder);
  JobSpec alone = gpt_job(folder, 1, 0);
  alone.training.max_steps = 12;
  alone.training.batch_size = 24;
  alone.training.global_batch_size.reset();
  alone.training.micro_batch_size.reset();
  JobSpec pushed = alone;
  pushed.training.strategy = Strategy::parameter_server;
  pushed.ps.replicas = 2;
  pushed.mode = Mode::async;
  JobSpec any_norm = alone;
  any_norm.training.optimizer.clip_norm = 0;
  const auto weights_of = [](const JobSpec& spec) {
    Job job(spec);
    run(job);
    return job.final_weights();
  };
  const auto largest_difference = [](const std::vector<float>& a, const std::vector<float>& b) {
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
  };
  const std::vector<float> wanted = weights_of(alone);
  const std::vector<float> got = weights_of(pushed);
  REQUIRE(got.size() == wanted.size());
  CHECK(largest_difference(got, wanted) < 1e-4F);
  CHECK(largest_difference(weights_of(any_norm), wanted) > 1e-3F);
}

}  // namespace trainyard::runtime::test
