// A database that a person has edited, or that an older version has filled: what cannot be is said
// when it is loaded, and ends no program.
#include <catch2/catch.hpp>

#include "scheduler/core/cluster.h"
#include "scheduler/store/store.h"
#include "tests/scheduler/core/plain_tokens.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

struct Rows {
  TempFolder folder;
  Store store = value_of(Store::open(folder.path("trainyard.db")));
  Job job = a_job("j-1", 1);

  Rows() {
    TaskAttempt task = a_task(job, Role::worker, 0);
    task.state = TaskState::running;
    value_of(
        store.save(std::vector<Change>{SaveAgent{an_agent("a1")}, SaveJob{job}, SaveTask{task}}));
  }
  void edit(const std::string& sql) {
    Db db = value_of(Db::open(folder.path("trainyard.db"), Access::read_write));
    value_of(db.execute(sql));
  }
};

}  // namespace

TEST_CASE("rows that cannot be together are refused with the row's name", "[store][mend-A3]") {
  struct Damage {
    std::string sql;
    std::string said;
  };
  const Damage damage = GENERATE(
      Damage{"UPDATE jobs SET state = 'stopping', goal = 'running'",
             "job j-1 is stopping, on its way to running"},
      Damage{"UPDATE jobs SET state = 'queued'", "task j-1/2/worker/0 is running while its job is"},
      Damage{"UPDATE jobs SET step = -7", "job j-1 counts"},
      Damage{"UPDATE agents SET id = 'a2'", "is on agent \"a1\", which there is not"},
      Damage{"UPDATE agents SET generation = -1", "agent a1 has no name, epoch or generation"},
      Damage{"UPDATE tasks SET gpu_count = 4611686018427387904",
             "task j-1/2/worker/0 has resources"},
      Damage{"UPDATE tasks SET port = 70000", "task j-1/2/worker/0 has resources, a port"});
  Rows rows;
  REQUIRE(rows.store.load());
  rows.edit(damage.sql);

  const auto loaded = rows.store.load();

  INFO(damage.sql);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Code::internal);
  CHECK_THAT(loaded.error().message, Catch::Contains(damage.said));
}

TEST_CASE("a host that an older version believed counts for nothing until it tells anew",
          "[store][mend-A2]") {
  Rows rows;
  std::string wrong;
  SECTION("more GPUs than there can be") { wrong = R"('$.gpu_slots', 4611686018427387904)"; }
  SECTION("ports that are none") { wrong = R"('$.last_port', 700000)"; }
  rows.edit("UPDATE agents SET host = json_set(host, " + wrong + ")");

  Saved saved = value_of(rows.store.load());

  REQUIRE(saved.agents.size() == 1);
  CHECK(saved.agents[0].host.capacity == Resources{});
  Cluster cluster = Cluster::restore(std::move(saved), {}, plain_tokens(), Time{0});
  CHECK(cluster.agents({Time{0}, {}}).size() == 1);
}
