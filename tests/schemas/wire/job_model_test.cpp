// A job's model on its data set: what holds for every model that the runtime trains today.
#include "schemas/wire/job_model.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/models.h"

namespace trainyard {
namespace {

JobSpec job_of(const std::string& model, const std::string& format) {
  JobSpec spec;
  const bool has_hidden = model == "mlp" || model == "wide_and_deep";
  spec.model = models::zoo(model, has_hidden ? model::Arguments{{"hidden", models::widths({8, 5})}}
                                             : model::Arguments{});
  spec.dataset.name = "made";
  spec.dataset.format = format;
  spec.dataset.height = 20;
  spec.dataset.width = 30;
  spec.ps.replicas = 1;
  spec.worker.replicas = 2;
  spec.ps.resources.memory_mb = spec.worker.resources.memory_mb = 2048;
  return spec;
}

std::string faults_of(const model::Analysis& analysis) {
  std::string text;
  for (const Fault& fault : analysis.faults) text += fault.pointer + ": " + fault.message + "\n";
  return text;
}

}  // namespace

TEST_CASE("every model that fits a format is right on it before its files are read",
          "[job_model]") {
  const std::map<std::string, std::vector<std::string>> fitting{
      {"synthetic_digits", {"softmax_regression", "mlp"}},
      {"idx", {"softmax_regression", "mlp", "logistic_regression"}},
      {"cifar", {"softmax_regression", "mlp"}},
      {"image_folder", {"softmax_regression", "mlp", "logistic_regression"}},
      {"csv", {"linear_regression", "logistic_regression", "softmax_regression", "mlp"}},
      {"libsvm", {"logistic_regression", "wide_and_deep"}}};
  for (const auto& [format, models] : fitting) {
    for (const std::string& model : models) {
      INFO(model << " on " << format);
      JobSpec spec = job_of(model, format);
      CHECK(faults_of(analyse_job(spec)) == "");
      for (const char* const name : {"zeros", "normal", "uniform", "xavier_uniform", "he_normal"}) {
        models::set_argument(spec.model, "weight_init", name);
        CHECK(faults_of(analyse_job(spec)) == "");
      }
    }
  }
}

TEST_CASE("an mlp on digits has its variables, its costs and its memory", "[job_model]") {
  JobSpec spec = job_of("mlp", "synthetic_digits");
  spec.training.optimizer.name = OptimizerName::adam;
  spec.training.batch_size = 10;
  spec.ps.replicas = 2;
  const model::Analysis analysis = analyse_job(spec);
  std::vector<std::string> names;
  for (const model::Variable& variable : analysis.variables) names.push_back(variable.name);
  CHECK(names == std::vector<std::string>{"dense_0/kernel", "dense_0/bias", "dense_1/kernel",
                                          "dense_1/bias", "dense_2/kernel", "dense_2/bias"});
  const std::int64_t parameters = 784 * 8 + 8 + 8 * 5 + 5 + 5 * 10 + 10;
  CHECK(analysis.parameters == parameters);
  CHECK(analysis.worker.gradients >= 4 * parameters);
  CHECK(analysis.ps.parameters >= 2 * parameters);  // of two
  CHECK(analysis.ps.slots == 2 * *analysis.ps.parameters);
}

TEST_CASE("what a task does not have room for is a fault of its memory", "[job_model]") {
  JobSpec spec = job_of("mlp", "synthetic_digits");
  models::set_argument(spec.model, "hidden", models::widths({8192, 8192}));
  const auto pointers = [&spec] {
    std::vector<std::string> all;
    for (const Fault& fault : analyse_job(spec).faults) all.push_back(fault.pointer);
    return all;
  };
  spec.worker.resources.memory_mb = 4096;
  spec.ps.resources.memory_mb = 4096;
  CHECK(pointers().empty());
  spec.ps.resources.memory_mb = 128;
  CHECK(pointers() == std::vector<std::string>{"/roles/ps/resources/memory_mb"});
  spec.worker.resources.memory_mb = 256;
  CHECK(pointers().size() == 2);
  spec.training.strategy = Strategy::local;  // there is no ps
  CHECK(pointers() == std::vector<std::string>{"/roles/worker/resources/memory_mb"});
}

TEST_CASE("a chief is held to its own memory, alone and beside workers", "[job_model]") {
  JobSpec spec = job_of("mlp", "synthetic_digits");
  spec.worker = {};
  spec.chief = RoleSpec{.replicas = 1, .resources = {.cpus = 1, .memory_mb = 512, .gpus = 0}};
  CHECK(faults_of(analyse_job(spec)) == "");
  const std::string of_chief = "/roles/chief/resources/memory_mb";
  models::set_argument(spec.model, "hidden", models::widths({8192, 8192}));
  CHECK(analyse_job(spec).faults.at(0).pointer == of_chief);
  spec.worker.replicas = 1;
  spec.worker.resources.memory_mb = 8000;
  CHECK(analyse_job(spec).faults.at(0).pointer == of_chief);
  spec.chief->resources.memory_mb = 9000;
  CHECK(faults_of(analyse_job(spec)) == "");
}

TEST_CASE("a large batch of pictures is counted once, and what has no gradient has no room for one",
          "[job_model]") {
  JobSpec spec = job_of("mlp", "synthetic_digits");
  spec.training.strategy = Strategy::local;
  spec.training.batch_size = 60'000;
  spec.training.optimizer.name = OptimizerName::adam;
  const model::Analysis analysis = analyse_job(spec);
  const std::int64_t image = 60'000LL * 784 * 4;
  REQUIRE(analysis.worker.total);
  CHECK(analysis.worker.kept >= image);
  CHECK(analysis.worker.total < image * 5 / 4);
  CHECK(analysis.worker.slots == 2 * 4 * *analysis.parameters);  // there is no ps to have them
}

}  // namespace trainyard
