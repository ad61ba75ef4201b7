// Store: what is saved comes back the same, all or nothing, also after the process was killed.
#include "scheduler/store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "scheduler/store/db.h"
#include "scheduler/store/reader.h"
#include "schemas/files/file.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

TEST_CASE("a new database is empty and can be opened again", "[store]") {
  const TempFolder folder;
  { open_store(folder); }
  Store store = open_store(folder);

  const Saved saved = value_of(store.load());

  CHECK(saved.jobs.empty());
  CHECK(saved.agents.empty());
  CHECK(value_of(store.last_sequence()) == 0);
}

TEST_CASE("jobs, tasks, agents and checkpoints are loaded as they were saved", "[store]") {
  const TempFolder folder;
  const Job job = a_job("j-1", 1);
  const Checkpoint pending = a_checkpoint(job, 40, CheckpointState::pending);
  {
    Store store = open_store(folder);
    save(store, {SaveJob{job}, SaveTask{a_task(job, Role::ps, 0)},
                 SaveTask{a_task(job, Role::worker, 1)}, SaveAgent{an_agent("a1")},
                 SaveCheckpoint{a_checkpoint(job, 30)}, SaveCheckpoint{pending}});
  }

  Store store = open_store(folder);
  const Saved saved = value_of(store.load());

  REQUIRE(saved.jobs.size() == 1);
  CHECK(saved.jobs[0] == job);
  CHECK(saved.tasks == std::vector{a_task(job, Role::ps, 0), a_task(job, Role::worker, 1)});
  CHECK(saved.agents == std::vector{an_agent("a1")});
  CHECK(saved.checkpoints == std::vector{a_checkpoint(job, 30), pending});
  CHECK(value_of(store.last_sequence()) == 1);
}

TEST_CASE("a job saved again is updated, and keeps its optional fields empty", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Job job = a_job("j-1", 1);
  save(store, {SaveJob{job}});

  job.first_failure.reset();
  job.latest_checkpoint.reset();
  job.progress.metrics.clear();
  job.transitions.clear();
  job.version = 8;
  job.state = JobState::stopping;
  job.goal = JobState::suspended;
  save(store, {SaveJob{job}});

  CHECK(value_of(store.job(job.id)) == job);
}

TEST_CASE("numbers that JSON cannot say come back from a row", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Job job = a_job("j-1", 1);
  job.progress.metrics = {{"loss", std::numeric_limits<double>::quiet_NaN()},
                          {"up", std::numeric_limits<double>::infinity()},
                          {"down", -std::numeric_limits<double>::infinity()}};
  save(store, {SaveJob{job}});

  const auto metrics = value_of(store.job(job.id)).progress.metrics;

  CHECK(std::isnan(metrics.at("loss")));
  CHECK(metrics.at("up") == std::numeric_limits<double>::infinity());
  CHECK(metrics.at("down") == -std::numeric_limits<double>::infinity());
}

TEST_CASE("only unfinished jobs, tasks of their current attempt and kept checkpoints are loaded",
          "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Job ended = a_job("j-1", 1);
  ended.state = JobState::succeeded;
  Job suspended = a_job("j-2", 2);
  suspended.state = JobState::suspended;
  TaskAttempt old_task = a_task(suspended, Role::ps, 0);
  old_task.key.attempt = 1;
  save(store, {SaveJob{ended}, SaveTask{a_task(ended, Role::ps, 0)},
               SaveCheckpoint{a_checkpoint(ended, 10)}, SaveJob{suspended}, SaveTask{old_task},
               SaveCheckpoint{a_checkpoint(suspended, 5, CheckpointState::deleted)}});

  const Saved saved = value_of(store.load());

  REQUIRE(saved.jobs.size() == 1);
  CHECK(saved.jobs[0].id == suspended.id);
  CHECK(saved.tasks.empty());
  CHECK(saved.checkpoints.empty());
}

TEST_CASE("jobs that ended are told a few at a time, and those that stay are in nobody's way",
          "[store][mend-B15]") {
  const TempFolder folder;
  Store store = open_store(folder);
  for (const std::uint64_t sequence : {1, 2, 3, 4}) {
    Job job = a_job("j-" + std::to_string(sequence), sequence);
    job.state = sequence == 2 ? JobState::running : JobState::cancelled;
    job.finished_at = {sequence == 2 ? 0 : 1000};
    save(store, {SaveJob{job}});
  }

  const auto first = value_of(store.ended_jobs({.before = {1001}, .limit = 2}));
  REQUIRE(first.size() == 2);
  CHECK(first[0].id == JobId{"j-1"});
  CHECK(first[1].id == JobId{"j-3"});
  const auto rest = value_of(
      store.ended_jobs({.before = {1001}, .after_sequence = first.back().sequence, .limit = 2}));
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].id == JobId{"j-4"});
  CHECK(value_of(store.ended_jobs({.before = {1000}, .limit = 2})).empty());
}

TEST_CASE("the committed checkpoint that resume_from names is loaded with its job", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Job source = a_job("j-1", 1);
  source.state = JobState::succeeded;
  const Job heir = a_job("j-2", 2, R"(, "checkpoint": {"resume_from": "j-1/20"})");
  save(store, {SaveJob{source}, SaveCheckpoint{a_checkpoint(source, 10)},
               SaveCheckpoint{a_checkpoint(source, 20)}, SaveJob{heir}});

  const Saved saved = value_of(store.load());

  CHECK(saved.checkpoints == std::vector{a_checkpoint(source, 20)});
}

TEST_CASE("one change that fails undoes all of its transaction", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  const Job unknown = a_job("j-none", 9);

  const Status saved =
      store.save(std::vector<Change>{SaveJob{job}, SaveTask{a_task(unknown, Role::ps, 0)}});

  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == Code::internal);
  CHECK(store.job(job.id).error().code == Code::not_found);
  save(store, {SaveJob{job}});  // and the store goes on
  CHECK(value_of(store.job(job.id)) == job);
}

TEST_CASE("many steps are saved by one transaction", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  std::vector<Change> changes;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    changes.emplace_back(SaveJob{a_job("j-" + std::to_string(i), i)});
  }

  save(store, changes);

  CHECK(value_of(store.load()).jobs.size() == 100);
}

TEST_CASE("a removed job takes all that belongs to it along", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  const TaskKey task = a_task(job, Role::worker, 0).key;
  save(store,
       {SaveJob{job}, SaveTask{a_task(job, Role::ps, 0)}, SaveCheckpoint{a_checkpoint(job, 1)},
        AppendRunEvents{task,
                        {RunEvent{{5}, 0, MetricEvent{1, 10, {{"loss", 1.0}}}},
                         RunEvent{{5}, 90, PhaseEvent{}}}},
        RollBackMetrics{job.id, 2, 0}, SavePartition{job.id, 2, {}},
        AppendJobEvent{job.id, "task", "x", "", Reason::none, 1, {}}},
       {{"key", "hash", job.id}});

  save(store, {RemoveJob{job.id}});

  Db db = value_of(Db::open(database_of(folder), Access::read_only));
  for (const std::string table :
       {"jobs", "job_labels", "idempotency_keys", "tasks", "run_events", "metric_reports",
        "metric_rollbacks", "checkpoints", "partitions", "job_events"}) {
    Query query = db.query("SELECT count(*) FROM " + table);
    REQUIRE(query.next());
    INFO(table);
    CHECK(query.integer() == 0);
  }
}

TEST_CASE("a request's key leads to the job that it made", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  const IdempotencyKey key{"key-1", "hash-1", job.id};

  save(store, {SaveJob{job}}, {key});

  CHECK(value_of(store.find_key("key-1")) == key);
  CHECK(value_of(store.find_key("key-2")) == std::nullopt);
}

TEST_CASE("what was saved is there after a kill -9", "[store]") {
  const TempFolder folder;
  const Job job = a_job("j-1", 1);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Store store = open_store(folder);
    save(store, {SaveJob{job}, SaveAgent{an_agent("a1")}});
    ::kill(::getpid(), SIGKILL);  // nothing is closed, nothing is checkpointed
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));

  Store store = open_store(folder);

  CHECK(value_of(store.job(job.id)) == job);
  CHECK(value_of(store.load()).agents.size() == 1);
}

TEST_CASE("a full database is an error that passes, and the store goes on", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  save(store, {SaveJob{job}});
  {
    Db db = value_of(Db::open(database_of(folder), Access::read_write));
    value_of(
        db.execute("PRAGMA max_page_count = 1"));  // not less than it has: no page may be added
    Status status = ok();
    for (int i = 0; i < 1000 && status; ++i) {
      status = db.run("INSERT INTO run_events VALUES (?, 1, 'ps', 0, ?, ?)", job.id.text, i,
                      std::string(10'000, 'x'));
    }
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::unavailable);
  }

  save(store, {SaveJob{a_job("j-2", 2)}});

  CHECK(value_of(store.load()).jobs.size() == 2);
}

TEST_CASE("a row that cannot be read back is an internal error that says which", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  save(store, {SaveJob{job}});
  const std::string damage = GENERATE(as<std::string>{}, "state = 'dancing'", "metrics = '{'",
                                      "transitions = '[{}]'", "first_failure = '7'");
  Db db = value_of(Db::open(database_of(folder), Access::read_write));
  value_of(db.execute("UPDATE jobs SET " + damage));

  const auto read = store.job(job.id);

  INFO(damage);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::internal);
  CHECK(read.error().message.find("j-1") != std::string::npos);
}

TEST_CASE("an agent's row of before GPUs had UUIDs is read", "[store][gpu]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save(store, {SaveAgent{an_agent("a1")}});
  Db db = value_of(Db::open(database_of(folder), Access::read_write));
  value_of(db.execute(
      "UPDATE agents SET host = json_remove(host, '$.gpus[0].uuid', '$.gpus[0].numa_node', "
      "'$.gpus[0].peers', '$.gpus[0].product_tflops')"));

  const std::vector<AgentRecord> agents = value_of(store.load()).agents;

  REQUIRE(agents.size() == 1);
  CHECK(agents[0].host.gpus == std::vector<GpuInfo>{{0, "NVIDIA H100", 80'000}});
}

TEST_CASE("a stored spec that is no spec any more is an internal error", "[store]") {
  const TempFolder folder;
  {
    Store store = open_store(folder);
    save(store, {SaveJob{a_job("j-1", 1)}});
    Db db = value_of(Db::open(database_of(folder), Access::read_write));
    value_of(db.execute(R"(UPDATE jobs SET spec_json = '{"roles": 7}')"));
  }

  Store store = open_store(folder);  // has parsed no spec yet

  const auto read = store.job(JobId{"j-1"});
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::internal);
}

TEST_CASE("a database of a newer program is refused", "[store]") {
  const TempFolder folder;
  { open_store(folder); }
  {
    Db db = value_of(Db::open(database_of(folder), Access::read_write));
    value_of(db.execute("PRAGMA user_version = 999"));
  }

  const auto store = Store::open(database_of(folder));

  REQUIRE_FALSE(store);
  CHECK(store.error().code == Code::conflict);
  CHECK(store.error().message.find("999") != std::string::npos);
}

TEST_CASE("a file that is no database is refused", "[store]") {
  const TempFolder folder;
  const File file = value_of(File::open(database_of(folder), O_WRONLY | O_CREAT));
  value_of(file.write_at(0, std::string(8192, 'x')));

  const auto store = Store::open(database_of(folder));
  REQUIRE_FALSE(store);
  CHECK_THAT(store.error().message, Catch::Contains(database_of(folder)));
}
