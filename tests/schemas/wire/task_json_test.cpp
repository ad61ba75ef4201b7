#include "schemas/wire/task_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schemas/wire/job_spec_json.h"
#include "tests/schemas/wire/random_values.h"

using namespace trainyard;

namespace {

// The numbers that the optimizer does not use are not said.
TaskContext as_said(TaskContext context) {
  context.spec = std::get<JobSpec>(parse_job_spec(to_json(context.spec)));
  return context;
}

// Short enough to write by hand.
const char* const by_hand = R"({
  "role": "worker", "index": 0, "folder": "/tmp/run",
  "spec": {"model": "mlp", "dataset": "synthetic_digits", "training": {"strategy": "local"},
           "roles": {"worker": 1}},
  "cluster": {"worker": ["localhost:0"]}
})";

std::string refusal(const nlohmann::json& value) {
  const auto result = parse_task_context(value.dump());
  REQUIRE_FALSE(result);
  return result.error().message;
}

}  // namespace

TEST_CASE("a task's context comes back as it was", "[wire]") {
  RandomValues random(21);
  for (int i = 0; i < 200; ++i) {
    const TaskContext context = as_said(random.task_context());
    const std::string text = to_json(context);
    INFO(text);
    const auto again = parse_task_context(text);
    REQUIRE(again);
    CHECK(*again == context);
  }
}

TEST_CASE("a task.json can be written by hand with little in it", "[wire]") {
  const auto context = parse_task_context(by_hand);
  REQUIRE(context);
  CHECK(context->key == TaskKey{JobId{"by-hand"}, 1, Role::worker, 0});
  CHECK(context->spec.training.batch_size == 100);
  CHECK_FALSE(context->restore.has_value());
  CHECK(context->gpu_product_rates.empty());
  CHECK(to_json(*context).find("gpu_product_tflops") == std::string::npos);
}

TEST_CASE("a bad task.json is refused, naming each field", "[wire]") {
  nlohmann::json value = nlohmann::json::parse(by_hand);
  value["role"] = "boss";
  value["spec"]["model"] = "resnet";
  value["colour"] = 1;
  value["gpu_product_tflops"] = {{"float32", 1}, {"tf32", -1}};
  const std::string message = refusal(value);
  CHECK(message.starts_with("task.json: "));
  CHECK(message.find("/role must be one of ps, worker, chief, evaluator") != std::string::npos);
  CHECK(message.find("/spec/model") != std::string::npos);
  CHECK(message.find("/colour") != std::string::npos);
  CHECK(message.find("/gpu_product_tflops/tf32 must be ") != std::string::npos);
}

TEST_CASE("the parts of a task.json must fit together", "[wire]") {
  nlohmann::json value = nlohmann::json::parse(by_hand);
  value["index"] = 1;
  CHECK(refusal(value).find("/index must be below the replicas") != std::string::npos);

  value = nlohmann::json::parse(by_hand);
  value["spec"]["training"] = nlohmann::json::object();
  value["spec"]["roles"] = {{"ps", 2}, {"worker", 1}};
  value["cluster"]["ps"] = {"a:1"};
  CHECK(refusal(value).find("/cluster/ps must name as many as the spec has, 2, got 1") !=
        std::string::npos);

  value["cluster"]["ps"] = {"a:1", "a:2"};
  value["role"] = "ps";
  CHECK(refusal(value).find("/listen is required for a ps") != std::string::npos);

  value["job"] = "..";
  CHECK(refusal(value).find("/job") != std::string::npos);
}

TEST_CASE("a task of an all-reduce names all who train", "[wire][mend-A3]") {
  nlohmann::json value = nlohmann::json::parse(R"({
    "role": "worker", "index": 0, "cluster": {"worker": ["a:1", "b:1"]},
    "spec": {"model": "softmax_regression", "dataset": "synthetic_digits",
             "roles": {"worker": 2}, "training": {"strategy": "all_reduce"}}})");
  CHECK(parse_task_context(value.dump()));
  value["cluster"]["worker"] = {"a:1"};
  const auto refused = parse_task_context(value.dump());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("/cluster/worker must name") != std::string::npos);
}
