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

TEST_CASE("a worker returns alone unless it takes something along that is nowhere else",
          "[types]") {
  const TaskKey worker{JobId{"j"}, 1, Role::worker, 1};
  JobSpec spec;
  CHECK(returns_alone(spec, worker));
  CHECK_FALSE(returns_alone(spec, {JobId{"j"}, 1, Role::worker, 0}));  // the chief
  CHECK_FALSE(returns_alone(spec, {JobId{"j"}, 1, Role::ps, 1}));
  spec.training.wire = wire_by_word(Wire::bfloat16);
  CHECK(returns_alone(spec, worker));
  spec.training.wire = {.push = Wire::float32, .pull = Wire::bfloat16};
  CHECK(returns_alone(spec, worker));
  spec.training.wire = {.push = Wire::onebit, .pull = Wire::bfloat16};
  CHECK_FALSE(returns_alone(spec, worker));
  spec.mode = Mode::async;  // it loses a little, as async does
  CHECK(returns_alone(spec, worker));
}

TEST_CASE("a ps returns alone in async, unless it has more than its shards say", "[types]") {
  const TaskKey ps{JobId{"j"}, 1, Role::ps, 0};
  JobSpec spec;
  CHECK_FALSE(returns_alone(spec, ps));
  spec.mode = Mode::async;
  CHECK(returns_alone(spec, ps));
  spec.training.max_staleness = 3;
  CHECK(returns_alone(spec, ps));
  spec.training.max_staleness = 0;  // which is sync
  CHECK_FALSE(returns_alone(spec, ps));
  spec.training.max_staleness.reset();
  spec.training.wire = wire_by_word(Wire::bfloat16);
  CHECK(returns_alone(spec, ps));
  spec.training.wire = wire_by_word(Wire::onebit);
  CHECK_FALSE(returns_alone(spec, ps));
  spec.training.wire = wire_by_word(Wire::float32);
  spec.model.name = "wide_and_deep";
  CHECK_FALSE(returns_alone(spec, ps));
}

TEST_CASE("tasks come back where an agent starts them again", "[types]") {
  TaskContext context;
  context.spec.mode = Mode::async;
  CHECK_FALSE(comes_back(context, Role::ps));
  context.tasks_return = true;
  CHECK(comes_back(context, Role::ps));
  CHECK(comes_back(context, Role::worker));
  CHECK_FALSE(comes_back(context, Role::chief));
  context.spec.mode = Mode::sync;
  CHECK_FALSE(comes_back(context, Role::ps));
  context.spec.run_policy.max_restarts = 0;
  CHECK_FALSE(comes_back(context, Role::worker));
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
