// Jobs whose workers have several GPUs, on hosts that need have none: a step is divided by the spec
// alone.
#include <catch2/catch.hpp>

#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime::test {
namespace {

struct Gang {
  std::int64_t workers = 1;
  std::int64_t gpus = 0;
  std::int64_t batch_size = 20;
};

JobSpec spec_of_gang(const Gang& gang) {
  JobSpec spec = small_job();
  spec.worker.replicas = gang.workers;
  spec.worker.resources.gpus = gang.gpus;
  spec.training.batch_size = gang.batch_size;
  spec.training.device = ComputeDevice::automatic;
  return spec;
}

}  // namespace

TEST_CASE("workers with several GPUs make the steps of more workers with one each", "[job]") {
  Job four(spec_of_gang({.workers = 4, .gpus = 1, .batch_size = 20}));
  run(four);
  Job two(spec_of_gang({.workers = 2, .gpus = 2, .batch_size = 40}));
  run(two);
  Job one(spec_of_gang({.workers = 1, .gpus = 4, .batch_size = 80}));
  run(one);
  CHECK(final_shards(two) == final_shards(four));
  CHECK(final_shards(one) == final_shards(four));
}

TEST_CASE("a job's GPUs count as much where its device is the CPU", "[job]") {
  JobSpec spec = spec_of_gang({.workers = 1, .gpus = 2, .batch_size = 40});
  Job automatic(spec);
  run(automatic);
  spec.training.device = ComputeDevice::cpu;
  Job on_cpu(spec);
  run(on_cpu);
  CHECK(final_shards(on_cpu) == final_shards(automatic));
}

}  // namespace trainyard::runtime::test
