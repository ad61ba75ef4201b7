// Jobs on convolutional networks: one spec, one model, with batch norm's averages, dropout and
// augmented images, whoever computes them.
#include <catch2/catch.hpp>

#include "schemas/wire/model_json.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/convnet.h"

namespace trainyard::runtime::test {
namespace {

JobSpec convnet_job(std::int64_t workers, std::int64_t ps, const std::string& more = "") {
  const auto parsed = parse_job_spec(R"({"model": )" + models::convnet + R"(, "dataset": )" +
                                     models::augmented_digits + R"(,
          "training": {"global_batch_size": 32, "micro_batch_size": 8, "max_steps": 24,
                       "optimizer": {"name": "momentum", "learning_rate": 0.01,
                                     "weight_decay": 0.001, "decay": "matrices"})" +
                                     more + R"(},
          "checkpoint": {"every_steps": 10, "metric": "test_top_3"}})");
  return with_tasks(parsed, workers, ps);
}

// Of these layers, and a loss.
model::Written model_of(const std::string& layers) {
  std::vector<Fault> faults;
  const auto model =
      model::parse_model(nlohmann::json::parse(R"({"loss": "softmax_cross_entropy", "metrics": [
          "accuracy", {"op": "top_k", "k": 3}], "layers": [)" +
                                               layers + "}"),
                         "/model", faults);
  REQUIRE(faults.empty());
  return *model;
}

// Of products that are worth several threads.
model::Written wide_convnet() {
  std::vector<Fault> faults;
  const auto model = model::parse_model(nlohmann::json::parse(R"({
      "layers": [{"op": "conv2d", "filters": 12, "kernel": 5, "padding": 2}, "batch_norm", "relu",
                 {"op": "max_pool2d", "size": 2},
                 {"op": "conv2d", "filters": 40, "kernel": 3, "stride": 2, "padding": 1}, "relu",
                 "flatten", {"op": "dropout", "rate": 0.3}, {"op": "dense", "units": 200},
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})"),
                                        "/model", faults);
  REQUIRE(faults.empty());
  return *model;
}

std::vector<float> weights_of(const JobSpec& spec) {
  Job job(spec);
  run(job);
  return job.final_weights();
}

}  // namespace

TEST_CASE("a convolutional network is the same for any number of workers and ps", "[job]") {
  const std::vector<float> weights = weights_of(convnet_job(1, 0));
  for (const auto& [workers, ps] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {2, 1}, {3, 1}, {4, 1}, {3, 2}, {4, 2}, {2, 0}, {3, 0}}) {
    INFO(workers << " workers, " << ps << " ps");
    CHECK(weights_of(convnet_job(workers, ps)) == weights);
  }
}

TEST_CASE("a model of fewer numbers than a chunk trains on several ps, one of which has it all",
          "[job][tiny]") {
  const auto weights_with = [](std::int64_t workers, std::int64_t ps) {
    JobSpec spec = convnet_job(workers, ps);
    spec.model = model_of(R"(
        {"op": "reduce", "kind": "mean", "axes": [0, 1]}, {"op": "dense", "units": "classes"}])");
    return weights_of(spec);
  };
  const std::vector<float> weights = weights_with(1, 0);
  for (const auto& [workers, ps] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 1}, {2, 2}, {2, 3}, {3, 0}}) {
    INFO(workers << " workers, " << ps << " ps");
    CHECK(weights_with(workers, ps) == weights);
  }
}

TEST_CASE("a batch norm of numbers that are no image trains", "[job][tiny]") {
  const auto weights_with = [](std::int64_t workers, std::int64_t ps) {
    JobSpec spec = convnet_job(workers, ps);
    spec.model = model_of(R"(
        "flatten", {"op": "dense", "units": 8}, "batch_norm",
        {"op": "dense", "units": "classes"}])");
    return weights_of(spec);
  };
  CHECK(weights_with(2, 1) == weights_with(1, 0));
}

TEST_CASE("a convolutional network is the same for any number of cpus of its workers",
          "[job][threads]") {
  const auto weights_with = [](std::int64_t cpus, std::int64_t workers, std::int64_t ps) {
    JobSpec spec = convnet_job(workers, ps);
    spec.model = wide_convnet();
    spec.training.global_batch_size = 128;
    spec.training.micro_batch_size = 64;
    spec.training.max_steps = 4;
    spec.checkpoint.every_steps = 0;
    spec.worker.resources.cpus = cpus;
    return weights_of(spec);
  };
  const std::vector<float> weights = weights_with(1, 1, 0);
  CHECK(weights_with(3, 1, 0) == weights);
  CHECK(weights_with(2, 1, 1) == weights);
  CHECK(weights_with(3, 2, 0) == weights);
}

TEST_CASE("a network whose slopes are learned is the same for any number of tasks and cpus",
          "[job][threads]") {
  std::vector<Fault> faults;
  const auto network = model::parse_model(nlohmann::json::parse(R"({
      "layers": [{"op": "conv2d", "filters": 12, "kernel": 5, "stride": 2}, "prelu", "flatten",
                 {"op": "dense", "units": 20}, {"op": "prelu", "init": -0.5},
                 {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy", "metrics": [{"op": "top_k", "k": 3}]})"),
                                          "/model", faults);
  REQUIRE(faults.empty());
  const auto weights_with = [&](std::int64_t cpus, std::int64_t workers, std::int64_t ps) {
    JobSpec spec = convnet_job(workers, ps);
    spec.model = *network;
    spec.worker.resources.cpus = cpus;
    return weights_of(spec);
  };
  const std::vector<float> weights = weights_with(1, 1, 0);
  CHECK(
      std::ranges::none_of(weights, [](float value) { return value == 0.25F || value == -0.5F; }));
  CHECK(weights_with(3, 1, 0) == weights);
  CHECK(weights_with(1, 3, 2) == weights);
  CHECK(weights_with(2, 2, 0) == weights);
}

TEST_CASE("a convolutional network goes on from its checkpoint on other tasks to the same model",
          "[job]") {
  const std::vector<float> weights = weights_of(convnet_job(2, 1));
  JobSpec first_half = convnet_job(2, 2);
  first_half.training.max_steps = 12;
  Job first(first_half);
  run(first);
  Job rest(convnet_job(3, 1), first.newest_checkpoint());
  run(rest);
  CHECK(rest.final_weights() == weights);
}

TEST_CASE("averages of a batch norm travel whole where gradients are rounded", "[job]") {
  for (const char* const wire : {"bfloat16", "onebit"}) {
    INFO(wire);
    const std::string more = std::string(R"(, "wire": ")") + wire + '"';
    const std::vector<float> weights = weights_of(convnet_job(2, 1, more));
    CHECK(weights_of(convnet_job(2, 2, more)) == weights);
    CHECK(weights != weights_of(convnet_job(2, 1)));
  }
}

TEST_CASE("the metrics of a model are reported, of training and of the test split", "[job]") {
  Job job(convnet_job(2, 1));
  run(job);
  const auto last = last_of<MetricEvent>(job, "worker/0").values;
  for (const char* const name : {"test_loss", "test_accuracy", "test_top_3"}) {
    INFO(name);
    REQUIRE(last.contains(name));
  }
  CHECK(last.at("test_top_3") >= last.at("test_accuracy"));
  bool is_in_training = false;
  for (const MetricEvent& each : all_of<MetricEvent>(job, "worker/0")) {
    if (each.values.contains("top_3")) is_in_training = true;
  }
  CHECK(is_in_training);
}

}  // namespace trainyard::runtime::test
