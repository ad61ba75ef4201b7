// MNIST as published. Skipped, saying so, where the files are not there.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

constexpr const char* folder = "../shared/data/mnist";

double test_accuracy_of(Yard& yard, const nlohmann::json& model, const std::string& mode,
                        const std::string& wire = "float32") {
  const nlohmann::json spec = {{"model", model},
                               {"dataset",
                                {{"name", "mnist"},
                                 {"format", "idx"},
                                 {"path", std::filesystem::canonical(folder).string()}}},
                               {"roles", {{"ps", 2}, {"worker", 2}}},
                               {"mode", mode},
                               {"training",
                                {{"wire", wire},
                                 {"batch_size", 100},
                                 {"epochs", 5},
                                 {"optimizer", {{"name", "sgd"}, {"learning_rate", 1.0}}}}}};
  const auto job = yard.wait_for_state(yard.submit(spec), "succeeded", 300);
  return job.at("status").at("metrics").at("test_accuracy").get<double>();
}

bool is_skipped() {
  if (slowness > 1) {
    WARN("skipped: what is learned is the same under a sanitizer, only slower");
    return true;
  }
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: " << folder << " is not there");
    return true;
  }
  return false;
}

const nlohmann::json mlp = {{"name", "mlp"}, {"hidden", {100}}, {"activation", "sigmoid"}};

}  // namespace

TEST_CASE("MNIST trains to its known accuracies on two ps and two workers", "[e2e]") {
  if (is_skipped()) return;
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  CHECK(test_accuracy_of(yard, mlp, "sync") >= 0.95);
  CHECK(test_accuracy_of(yard, mlp, "async") >= 0.95);
  CHECK(test_accuracy_of(yard, "softmax_regression", "sync") >= 0.91);
}

TEST_CASE("MNIST over a lossy wire is within half a point of float32", "[e2e]") {
  if (is_skipped()) return;
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const double whole = test_accuracy_of(yard, mlp, "sync");
  for (const char* const wire : {"bfloat16", "onebit"}) {
    INFO(wire << ", float32 has " << whole);
    CHECK(test_accuracy_of(yard, mlp, "sync", wire) >= whole - 0.005);
  }
}
