// Names, tokens and roles of tasks, and what fits where.
#include <catch2/catch.hpp>
#include <set>

#include "schemas/types/job.h"
#include "schemas/types/resources.h"
#include "schemas/types/task_context.h"

using namespace trainyard;

TEST_CASE("a task is named by its role and index, and whole by job and attempt", "[types]") {
  const TaskKey key{JobId{"j7"}, 2, Role::ps, 1};
  CHECK(task_name(key) == "ps/1");
  CHECK(to_string(key) == "j7/2/ps/1");
}

TEST_CASE("tokens of before differ by job, by attempt and by seed", "[types]") {
  Job job;
  job.id = JobId{"j7"};
  job.token_seed = 99;
  std::set<std::string> tokens;
  for (std::int64_t attempt = 1; attempt <= 100; ++attempt) {
    tokens.insert(token_of_before(job, attempt));
    CHECK(token_of_before(job, attempt) == token_of_before(job, attempt));
  }
  Job other = job;
  other.token_seed = 100;
  tokens.insert(token_of_before(other, 1));
  other = job;
  other.id = JobId{"j8"};
  tokens.insert(token_of_before(other, 1));

  CHECK(tokens.size() == 102);
  CHECK(token_of_before(job, 3).starts_with("j7.3."));
}

TEST_CASE("worker 0 is the chief, unless there is a chief of its own", "[types]") {
  TaskContext context;
  context.key = {JobId{"j"}, 1, Role::worker, 0};
  CHECK(is_chief(context));
  CHECK(training_rank(context) == 0);
  context.key.index = 2;
  CHECK_FALSE(is_chief(context));
  CHECK(training_rank(context) == 2);

  context.spec.chief = RoleSpec{.replicas = 1, .resources = {}};
  context.key.index = 0;
  CHECK_FALSE(is_chief(context));
  CHECK(training_rank(context) == 1);
  context.key.role = Role::chief;
  CHECK(is_chief(context));
  CHECK(training_rank(context) == 0);
}

TEST_CASE("a worker returns alone where nothing but its step in hand is lost with it", "[types]") {
  const TaskKey worker{JobId{"j"}, 1, Role::worker, 1};
  JobSpec spec;
  CHECK(returns_alone(spec, worker));
  SECTION("not the chief, of either role") {
    const TaskKey first{JobId{"j"}, 1, Role::worker, 0};
    CHECK_FALSE(returns_alone(spec, first));
    spec.chief = RoleSpec{.replicas = 1, .resources = {}};
    CHECK(returns_alone(spec, first));
    CHECK_FALSE(returns_alone(spec, {JobId{"j"}, 1, Role::chief, 0}));
  }
  SECTION("not where tasks are started once") {
    spec.run_policy.max_restarts = 0;
    CHECK_FALSE(returns_alone(spec, worker));
  }
  SECTION("not a worker that holds parameters") {
    spec.training.strategy = Strategy::all_reduce;
    CHECK_FALSE(returns_alone(spec, worker));
  }
  SECTION("with an embedding table, and as a backup worker") {
    spec.model = model::ZooCall{.name = "wide_and_deep"};
    CHECK(returns_alone(spec, worker));
    spec.worker.replicas = 3;
    spec.training.replicas_to_aggregate = 2;
    CHECK(returns_alone(spec, worker));
  }
  SECTION("of sync with its residual nowhere else: no") {
    spec.training.wire = {.push = Wire::float32, .pull = Wire::bfloat16};
    CHECK(returns_alone(spec, worker));
    spec.training.wire = {.push = Wire::onebit, .pull = Wire::bfloat16};
    CHECK_FALSE(returns_alone(spec, worker));
    spec.mode = Mode::async;  // it loses a little, as async does
    CHECK(returns_alone(spec, worker));
    spec.training.max_staleness = 0;  // which is sync
    CHECK_FALSE(returns_alone(spec, worker));
  }
}

TEST_CASE("a ps never returns alone", "[types]") {
  JobSpec spec;
  for (const Mode mode : {Mode::sync, Mode::async}) {
    spec.mode = mode;
    for (const std::int64_t index : {0, 1}) {
      CHECK_FALSE(returns_alone(spec, {JobId{"j"}, 1, Role::ps, index}));
    }
  }
}

TEST_CASE("workers come back where an agent starts them again", "[types]") {
  TaskContext context;
  context.key = {JobId{"j"}, 1, Role::ps, 0};  // who asks
  CHECK_FALSE(workers_come_back(context));
  context.tasks_return = true;
  CHECK(workers_come_back(context));
  context.spec.mode = Mode::async;
  CHECK(workers_come_back(context));
  context.spec.run_policy.max_restarts = 0;
  CHECK_FALSE(workers_come_back(context));
}

TEST_CASE("training replicas count the workers and the chief, not the ps", "[types]") {
  JobSpec spec;
  spec.ps.replicas = 5;
  spec.worker.replicas = 3;
  CHECK(training_replicas(spec) == 3);
  spec.chief = RoleSpec{.replicas = 1, .resources = {}};
  CHECK(training_replicas(spec) == 4);
}

TEST_CASE("what is wanted fits only if every resource does", "[types]") {
  constexpr Resources free{4, 1000, 1};
  CHECK(fits({4, 1000, 1}, free));
  CHECK_FALSE(fits({5, 1, 0}, free));
  CHECK_FALSE(fits({1, 1001, 0}, free));
  CHECK_FALSE(fits({1, 1, 2}, free));
  CHECK(Resources{1, 2, 3} + Resources{1, 1, 1} - Resources{1, 1, 1} == Resources{1, 2, 3});
}
