// What a task may have its agent do at the server.
#include "scheduler/loop/task_rights.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

TEST_CASE("a file that there is no room for is waited with, but not in a job that is cancelled",
          "[loop][mend-B3]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Artifacts artifacts(folder.path("artifacts"));
  std::filesystem::create_directories(folder.path("artifacts"));
  TaskRights rights(value_of(SecretKey::of_file(folder.path("key"))),
                    value_of(Reader::open(database_of(folder))), artifacts);
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  if (std::filesystem::space(folder.path()).available > largest) {
    WARN("skipped: this disk has room for any file");
    return;
  }
  Job job = a_job("j-1", 1);
  save(store, {SaveJob{job}});
  const TaskKey task = a_task(job, Role::ps, 0).key;
  const ArtifactFile file{.name = "shard", .bytes = largest, .sha256 = sha256_hex("shard")};

  CHECK(rights.check_upload(task, file).error().code == Code::unavailable);
  job.goal = JobState::cancelled;
  save(store, {SaveJob{job}});
  CHECK(rights.check_upload(task, file).error().code == Code::invalid);
}
