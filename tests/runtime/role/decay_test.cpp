// Jobs whose weight decay leaves out some variables.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::micro_batch_job, test::run;

std::vector<float> model_with(JobSpec spec, DecayedVariables decay) {
  spec.training.optimizer.weight_decay = 1;
  spec.training.optimizer.decay = decay;
  Job job(spec);
  run(job);
  return job.final_weights();
}

}  // namespace

TEST_CASE("weight decay of matrices alone is the same wherever an update is made", "[job]") {
  JobSpec local = micro_batch_job(1, 0);
  local.training.strategy = Strategy::local;
  const std::vector<float> wanted = model_with(local, DecayedVariables::matrices);

  CHECK(model_with(micro_batch_job(2, 2), DecayedVariables::matrices) == wanted);
  CHECK(model_with(micro_batch_job(3, 0), DecayedVariables::matrices) == wanted);
  const bool is_another = model_with(local, DecayedVariables::all) != wanted;
  CHECK(is_another);
}

}  // namespace trainyard::runtime
