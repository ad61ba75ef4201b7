// Jobs whose workers have several GPUs: what a step is divided into, and what is refused.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "schemas/wire/job_model.h"
#include "schemas/wire/job_spec_json.h"

namespace trainyard {
namespace {

constexpr const char* recsys_model = R"("model": "wide_and_deep", "dataset": {
    "format": "libsvm", "name": "clicks", "path": "/data/clicks", "features": 100})";
constexpr const char* digits_model = R"("model": "mlp", "dataset": "synthetic_digits")";

std::string job_on_gpus(const std::string& gpus, const std::string& rest) {
  return "{" + rest + R"(, "roles": {"ps": 1, "worker": {"replicas": 2, "resources": {"gpus": )" +
         gpus + "}}}}";
}

JobSpec spec_of(const std::string& text) {
  const auto job = parse_job_spec(text);
  INFO(text);
  REQUIRE(std::holds_alternative<JobSpec>(job));
  return std::get<JobSpec>(job);
}

std::vector<Fault> faults_in(const std::string& text) {
  const auto job = parse_job_spec(text);
  INFO(text);
  REQUIRE(std::holds_alternative<std::vector<Fault>>(job));
  return std::get<std::vector<Fault>>(job);
}

// The only one.
Fault fault_in(const std::string& text) {
  const std::vector<Fault> faults = faults_in(text);
  for (const Fault& fault : faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  REQUIRE(faults.size() == 1);
  return faults.front();
}

std::string job_of_training(const std::string& gpus, const std::string& training) {
  return job_on_gpus(gpus, digits_model + (R"(, "training": {)" + training + "}"));
}

}  // namespace

TEST_CASE("the GPUs of a worker divide its batch, whatever computes it", "[wire][gpus]") {
  for (const char* const device : {"gpu", "auto", "cpu"}) {
    const std::string of_device = R"("batch_size": 60, "device": ")" + std::string(device) + '"';
    const JobSpec spec = spec_of(job_of_training("3", of_device));
    CHECK(leaf_examples(spec) == 20);
    CHECK(step_leaves(spec) == 6);
  }
  for (const char* const gpus : {"0", "1"}) {
    const JobSpec spec = spec_of(job_of_training(gpus, R"("batch_size": 60)"));
    CHECK(leaf_examples(spec) == 60);
    CHECK(step_leaves(spec) == 2);
  }
}

TEST_CASE("micro-batches are what they are for any number of GPUs", "[wire][gpus]") {
  const std::string micro = R"("global_batch_size": 80, "micro_batch_size": 10)";
  for (const char* const gpus : {"0", "1", "2", "4"}) {
    const JobSpec spec = spec_of(job_of_training(gpus, micro));
    CHECK(leaf_examples(spec) == 10);
    CHECK(step_leaves(spec) == 8);
  }
  const Fault fault = fault_in(job_of_training("5", micro));
  CHECK(fault.pointer == "/training/micro_batch_size");
  CHECK(fault.message ==
        "leaves 8 micro-batches for 2 workers of 5 GPUs: each GPU needs one at least");
}

TEST_CASE("async steps, and those with backup workers, are of one GPU a worker", "[wire][gpus]") {
  const std::string async = digits_model + std::string(R"(, "mode": "async")");
  const Fault of_mode = fault_in(job_on_gpus("2", async));
  CHECK(of_mode.pointer == "/roles/worker/resources/gpus");
  CHECK(of_mode.kind == FaultKind::not_yet);
  CHECK(of_mode.message ==
        "several GPUs of one worker with mode async are not in this version yet: use more workers "
        "with one each");
  const Fault of_backups = fault_in(job_of_training("2", R"("replicas_to_aggregate": 1)"));
  CHECK(of_backups.pointer == "/roles/worker/resources/gpus");
  CHECK(of_backups.kind == FaultKind::not_yet);

  // On the CPU these GPUs are slots alone, and nothing is divided.
  const JobSpec on_cpu =
      spec_of(job_on_gpus("3", async + R"(, "training": {"device": "cpu", "batch_size": 100})"));
  CHECK(leaf_examples(on_cpu) == 100);
  CHECK(step_leaves(on_cpu) == 2);
}

TEST_CASE("a table of rows is of one GPU a worker", "[wire][gpus]") {
  const Fault fault = fault_in(job_on_gpus("2", recsys_model));
  CHECK(fault.pointer == "/roles/worker/resources/gpus");
  CHECK(fault.kind == FaultKind::not_yet);
  spec_of(job_on_gpus("1", recsys_model));
  spec_of(job_on_gpus("2", recsys_model + std::string(R"(, "training": {"device": "cpu"})")));
}

TEST_CASE("a worker with several GPUs keeps a gradient of each", "[wire][gpus]") {
  const auto one = analyse_job(spec_of(job_of_training("1", R"("batch_size": 60)")));
  const auto three = analyse_job(spec_of(job_of_training("3", R"("batch_size": 60)")));
  const auto on_cpu =
      analyse_job(spec_of(job_of_training("3", R"("batch_size": 60, "device": "cpu")")));
  REQUIRE(one.worker.gradients);
  CHECK(three.worker.gradients == 3 * *one.worker.gradients);
  CHECK(on_cpu.worker.gradients == one.worker.gradients);
  CHECK(3 * *three.worker.kept == *one.worker.kept);  // of a third of the examples
  CHECK(*three.worker.total == *three.worker.parameters + *three.worker.gradients +
                                   *three.worker.slots + *three.worker.kept +
                                   *three.worker.scratch);
}

TEST_CASE("a job that an older version took is read though its GPUs do not divide its batch",
          "[wire][gpus]") {
  const auto job = parse_stored_job_spec(job_of_training("3", R"("batch_size": 2)"));
  REQUIRE(std::holds_alternative<JobSpec>(job));
  CHECK(leaf_examples(std::get<JobSpec>(job)) == 1);
}

}  // namespace trainyard
