#include "scheduler/core/retry.h"

#include <catch2/catch.hpp>

namespace trainyard::scheduler {

TEST_CASE("the wait doubles from restart to restart, up to its bound", "[scheduler]") {
  const BackoffSpec spec{1, 2.0, 60};
  CHECK(backoff(spec, 1) == seconds(1));
  CHECK(backoff(spec, 2) == seconds(2));
  CHECK(backoff(spec, 3) == seconds(4));
  CHECK(backoff(spec, 100) == seconds(60));
}

TEST_CASE("user and infrastructure failures are counted apart", "[scheduler]") {
  Job job;
  job.spec.run_policy.max_restarts = 1;
  job.restarts = {1, 7};
  CHECK_FALSE(may_restart(job, Reason::exit_nonzero));
  CHECK_FALSE(may_restart(job, Reason::no_progress));
  CHECK(may_restart(job, Reason::agent_lost));
  job.restarts = {0, infra_restarts_max};
  CHECK(may_restart(job, Reason::exit_nonzero));
  CHECK_FALSE(may_restart(job, Reason::agent_lost));
}

TEST_CASE("what will fail again is not tried again", "[scheduler]") {
  Job job;
  CHECK_FALSE(may_restart(job, Reason::bad_data));
  CHECK_FALSE(may_restart(job, Reason::nan_loss));
  job.spec.mode = Mode::async;
  CHECK(may_restart(job, Reason::nan_loss));
  job.spec.mode = Mode::sync;
  job.spec.training.deterministic = false;
  CHECK(may_restart(job, Reason::nan_loss));
  job.spec.training.deterministic = true;
  job.spec.worker.replicas = 3;
  job.spec.training.replicas_to_aggregate = 3;
  CHECK_FALSE(may_restart(job, Reason::nan_loss));
  job.spec.training.replicas_to_aggregate = 2;  // who is first another time may be others
  CHECK(may_restart(job, Reason::nan_loss));
}

}  // namespace trainyard::scheduler
