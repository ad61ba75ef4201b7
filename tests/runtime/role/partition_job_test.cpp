// Jobs whose parameters are divided in every way there is: the same model each time, also where a
// ps is left without a parameter.
#include <catch2/catch.hpp>

#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job, test::micro_batch_job, test::run, test::all_of, test::last_of;

using Wires = std::vector<Wire>;
using Counts = std::vector<std::int64_t>;

constexpr Partitioning kPolicies[] = {Partitioning::chunks, Partitioning::round_robin,
                                      Partitioning::greedy};

// Four variables: of 784 x 16, 16, 16 x 10 and 10 elements.
JobSpec job_by(Partitioning policy, std::int64_t ps) {
  JobSpec spec = small_job();
  spec.training.partitioning = policy;
  spec.ps.replicas = ps;
  return spec;
}

std::vector<std::int64_t> bytes_of(const Partition& partition) {
  std::vector<std::int64_t> bytes;
  for (const HeldShare& share : partition.shares) bytes.push_back(share.bytes);
  return bytes;
}

std::vector<std::string> tasks_of(const Partition& partition) {
  std::vector<std::string> tasks;
  for (const HeldShare& share : partition.shares) tasks.push_back(share.task);
  return tasks;
}

}  // namespace

TEST_CASE("however the parameters are divided, and over whatever wire, the model is the same",
          "[job]") {
  const Wires wires = {Wire::float32, Wire::bfloat16, Wire::onebit};
  for (const Wire wire : either<Wires>(wires, {Wire::bfloat16, Wire::onebit})) {
    std::vector<float> expected;
    for (const Partitioning policy : kPolicies) {
      // Of 6, whole variables leave 2 with nothing.
      for (const std::int64_t ps : either<Counts>({1, 2, 6}, {6})) {
        INFO("wire " << int(wire) << " policy " << int(policy) << " ps " << ps);
        JobSpec spec = job_by(policy, ps);
        spec.training.wire = wire_by_word(wire);
        Job job(spec);
        run(job);
        if (expected.empty()) expected = job.final_weights();
        CHECK(job.final_weights() == expected);
      }
    }
  }
}

TEST_CASE("workers of an all-reduce hold whole variables too, to the same model", "[job]") {
  std::vector<float> expected;
  for (const Partitioning policy : kPolicies) {
    for (const std::int64_t workers : {2, 5}) {  // of 5, whole variables leave one with nothing
      INFO("policy " << int(policy) << " workers " << workers);
      JobSpec spec = micro_batch_job(workers, 0);
      spec.training.partitioning = policy;
      Job job(spec);
      run(job);
      if (expected.empty()) expected = job.final_weights();
      CHECK(job.final_weights() == expected);
    }
  }
}

TEST_CASE("a checkpoint made by one policy is restored by another", "[job]") {
  for (const Wire wire : either<Wires>({Wire::float32, Wire::onebit}, {Wire::onebit})) {
    JobSpec spec = job_by(Partitioning::chunks, 2);
    spec.training.wire = wire_by_word(wire);
    Job whole(spec);
    run(whole);
    for (const auto& [before, after] : {std::pair{Partitioning::chunks, Partitioning::round_robin},
                                        std::pair{Partitioning::round_robin, Partitioning::greedy},
                                        std::pair{Partitioning::greedy, Partitioning::chunks}}) {
      INFO("wire " << int(wire) << " from " << int(before) << " to " << int(after));
      spec.training.max_steps = 30;
      spec.training.partitioning = before;
      spec.ps.replicas = 6;
      Job first(spec);
      run(first);
      spec.training.max_steps = 60;
      spec.training.partitioning = after;
      spec.ps.replicas = 3;
      Job rest(spec, first.newest_checkpoint());
      run(rest);
      CHECK(rest.final_weights() == whole.final_weights());
    }
  }
}

TEST_CASE("an async job goes on and saves though a ps has no parameter", "[job]") {
  JobSpec spec = job_by(Partitioning::greedy, 5);
  spec.mode = Mode::async;
  spec.training.max_steps = 200;
  Job job(spec);
  run(job);
  const auto manifests = all_of<ManifestEvent>(job, "worker/0");
  REQUIRE_FALSE(manifests.empty());
  CHECK(manifests.back().final_one);
  CHECK(manifests.back().shards.size() == 5);
  // Of the reports between which something was applied: one at least, also where the other workers
  // made all steps before the chief came.
  std::vector<double> losses;
  for (const MetricEvent& metric : all_of<MetricEvent>(job, "worker/0")) {
    if (metric.values.contains("loss")) losses.push_back(metric.values.at("loss"));
  }
  REQUIRE_FALSE(losses.empty());
  CHECK(losses.back() < 2.2);  // of ten classes at a guess it is 2.3
}

TEST_CASE("an async job counts its updates by staleness, scaled or not", "[job]") {
  for (const StalenessScaling scaling : {StalenessScaling::none, StalenessScaling::inverse}) {
    JobSpec spec = small_job();
    spec.mode = Mode::async;
    spec.worker.replicas = 3;
    spec.training.max_steps = 300;
    spec.training.staleness_scaling = scaling;
    Job job(spec);
    run(job);
    const auto values = last_of<MetricEvent>(job, "worker/0").values;
    double updates = 0;
    for (const auto& [name, count] : values) {
      if (name.starts_with("staleness_updates_")) updates += count;
    }
    CHECK(updates == 300);
    CHECK(values.at("staleness_p50") <= values.at("staleness_p99"));
    CHECK(values.at("staleness_p99") <= values.at("staleness_max"));
    CHECK(values.at("test_accuracy") > 0.5);
  }
}

TEST_CASE("the chief tells who holds what, and how it is reached", "[job]") {
  Job job(job_by(Partitioning::round_robin, 6));
  run(job);
  const auto told = all_of<PartitionEvent>(job, "worker/0");
  REQUIRE(told.size() == 1);
  const Partition& partition = told.front().partition;
  CHECK(partition.policy == Partitioning::round_robin);
  CHECK(tasks_of(partition) ==
        std::vector<std::string>{"ps/0", "ps/1", "ps/2", "ps/3", "ps/4", "ps/5"});
  CHECK(bytes_of(partition) ==
        std::vector<std::int64_t>{784 * 16 * 4, 16 * 4, 160 * 4, 10 * 4, 0, 0});
  CHECK(partition.shares[0].transport == "shared memory");
  CHECK(partition.shares[0].variables.front().name == "dense_0/kernel");
  CHECK(partition.shares[5].transport == "unix");  // it has no memory to share
  CHECK(partition.shares[5].variables.empty());
  CHECK(all_of<PartitionEvent>(job, "worker/1").empty());
}

TEST_CASE("without ps the holders are the workers", "[job]") {
  Job all_reduce(micro_batch_job(2, 0));
  run(all_reduce);
  const auto told = last_of<PartitionEvent>(all_reduce, "worker/0").partition;
  CHECK(tasks_of(told) == std::vector<std::string>{"worker/0", "worker/1"});
  CHECK(balance_of(told) < 1.02);

  JobSpec spec = small_job();
  spec.worker.replicas = 1;
  spec.ps.replicas = 0;
  spec.training.strategy = Strategy::local;
  Job local(spec);
  run(local);
  const auto alone = last_of<PartitionEvent>(local, "worker/0").partition;
  CHECK(tasks_of(alone) == std::vector<std::string>{"worker/0"});
  CHECK(alone.shares.front().transport.empty());
  CHECK(balance_of(alone) == 1);
}

}  // namespace trainyard::runtime
