// Sweep: what no row refers to goes, what is needed or young stays.
#include "scheduler/store/sweep.h"

#include <catch2/catch.hpp>

#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"
#include "schemas/files/folder.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

struct Yard {
  TempFolder folder;
  Store store = open_store(folder);
  Artifacts artifacts{folder.path("artifacts")};
  Logs logs{folder.path("logs")};
  const Job job = a_job("j-1", 1);

  Yard() {
    value_of(make_folders(folder.path("artifacts")));
    save(store, {SaveJob{job}});
  }

  // Stores a file of this content and says how it is announced.
  ArtifactFile put(const std::string& content) {
    const ArtifactFile file{"f", std::ssize(content), sha256_hex(content)};
    ArtifactUpload upload = value_of(artifacts.resume(job.id, file, 0));
    value_of(upload.append(content));
    value_of(upload.finish());
    return file;
  }
  bool has(const ArtifactFile& file) { return artifacts.open(job.id, file.sha256).has_value(); }
  Sweep sweep(Millis grace) {
    return value_of(
        Sweep::open(folder.database(), {folder.path("artifacts"), folder.path("logs")}, grace));
  }
};

}  // namespace

TEST_CASE("files of kept checkpoints stay, those of deleted ones go", "[sweep]") {
  Yard yard;
  Checkpoint kept = a_checkpoint(yard.job, 10);
  kept.manifest = yard.put("manifest 10");
  kept.shards = {yard.put("shared shard")};
  Checkpoint pending = a_checkpoint(yard.job, 20, CheckpointState::pending);
  pending.manifest = yard.put("manifest 20");
  pending.shards = {};
  Checkpoint deleted = a_checkpoint(yard.job, 5, CheckpointState::deleted);
  deleted.manifest = yard.put("manifest 5");
  deleted.shards = kept.shards;  // the same content
  save(yard.store, {SaveCheckpoint{kept}, SaveCheckpoint{pending}, SaveCheckpoint{deleted}});

  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);

  CHECK(yard.has(kept.manifest));
  CHECK(yard.has(kept.shards[0]));
  CHECK(yard.has(pending.manifest));
  CHECK_FALSE(yard.has(deleted.manifest));
}

TEST_CASE("a young file stays until its grace is over", "[sweep]") {
  Yard yard;
  const ArtifactFile file = yard.put("not announced yet");

  CHECK(value_of(yard.sweep(seconds(3600)).sweep(yard.job.id)) == Sweep::Left::young_files);
  CHECK(yard.has(file));
  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);
  CHECK_FALSE(yard.has(file));
}

TEST_CASE("while an attempt runs, what came since it began waits for its manifest", "[sweep]") {
  Yard yard;
  const ArtifactFile shard = yard.put("a shard whose manifest is on its way");
  Checkpoint deleted = a_checkpoint(yard.job, 5, CheckpointState::deleted);
  deleted.manifest = yard.put("manifest 5");
  deleted.shards = {};
  Job running = yard.job;
  running.state = JobState::running;
  running.attempt = 1;
  TaskAttempt task;
  task.key = {running.id, 1, Role::ps, 0};
  task.state = TaskState::running;
  task.assigned_at = {1};
  save(yard.store, {SaveJob{running}, SaveTask{task}, SaveCheckpoint{deleted}});

  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);
  CHECK(yard.has(shard));
  CHECK_FALSE(yard.has(deleted.manifest));

  task.assigned_at = {4'102'444'800'000};  // the attempt began later than the file came
  save(yard.store, {SaveTask{task}});
  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);
  CHECK_FALSE(yard.has(shard));
}

TEST_CASE("a job that is gone leaves no file", "[sweep]") {
  Yard yard;
  yard.put("x");
  value_of(yard.logs.append({yard.job.id, 1, Role::ps, 0}, 0, "line\n"));
  Sweep sweep = yard.sweep(seconds(3600));
  CHECK(sweep.jobs_with_files() == std::vector{yard.job.id});
  save(yard.store, {RemoveJob{yard.job.id}});

  CHECK(value_of(sweep.sweep(yard.job.id)) == Sweep::Left::nothing);

  CHECK(sweep.jobs_with_files().empty());
}
