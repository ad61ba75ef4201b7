// Sweep: what no row refers to goes, what is needed or young stays.
#include "scheduler/store/sweep.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>

#include "scheduler/store/artifacts.h"
#include "scheduler/store/logs.h"
#include "schemas/base/clock.h"
#include "schemas/files/folder.h"
#include "schemas/files/whole_file.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

struct SweptYard {
  TempFolder folder;
  Store store = open_store(folder);
  Artifacts artifacts{folder.path("artifacts")};
  Logs logs{folder.path("logs")};
  const Job job = a_job("j-1", 1);

  SweptYard() {
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
    return value_of(Sweep::open(database_of(folder),
                                {.artifacts = folder.path("artifacts"),
                                 .logs = folder.path("logs"),
                                 .lost_and_found = folder.path("lost+found")},
                                grace));
  }
  std::set<std::string> lost_and_found() {
    const auto names = names_in(folder.path("lost+found"));
    return {names.begin(), names.end()};
  }
};

}  // namespace

TEST_CASE("files of kept checkpoints stay, those of deleted ones go", "[sweep]") {
  SweptYard yard;
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

TEST_CASE("files made for downloads stay with their checkpoint, half a one goes", "[sweep]") {
  SweptYard yard;
  Checkpoint kept = a_checkpoint(yard.job, 10);
  kept.manifest = yard.put("manifest 10");
  kept.shards = {};
  Checkpoint deleted = a_checkpoint(yard.job, 5, CheckpointState::deleted);
  deleted.manifest = yard.put("manifest 5");
  deleted.shards = {};
  save(yard.store, {SaveCheckpoint{kept}, SaveCheckpoint{deleted}});
  const std::string whole = value_of(yard.artifacts.onnx_path(kept));
  const std::string safetensors = value_of(yard.artifacts.model_path(kept));
  const std::string old = value_of(yard.artifacts.onnx_path(deleted));
  for (const std::string& path : {whole, whole + ".sha256", safetensors, old, old + ".sha256",
                                  whole + ".part", whole + ".sha256.new"}) {
    value_of(write_file(path, "made"));
  }

  CHECK(value_of(yard.sweep(seconds(3600)).sweep(yard.job.id)) == Sweep::Left::young_files);
  CHECK(std::filesystem::exists(whole + ".part"));
  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);

  CHECK(std::filesystem::exists(whole));
  CHECK(std::filesystem::exists(whole + ".sha256"));
  CHECK(std::filesystem::exists(safetensors));
  CHECK_FALSE(std::filesystem::exists(old));
  CHECK_FALSE(std::filesystem::exists(old + ".sha256"));
  CHECK_FALSE(std::filesystem::exists(whole + ".part"));
  CHECK_FALSE(std::filesystem::exists(whole + ".sha256.new"));
}

TEST_CASE("a young file stays until its grace is over", "[sweep]") {
  SweptYard yard;
  const ArtifactFile file = yard.put("not announced yet");

  CHECK(value_of(yard.sweep(seconds(3600)).sweep(yard.job.id)) == Sweep::Left::young_files);
  CHECK(yard.has(file));
  CHECK(value_of(yard.sweep(Millis{0}).sweep(yard.job.id)) == Sweep::Left::nothing);
  CHECK_FALSE(yard.has(file));
}

TEST_CASE("while an attempt runs, what came since it began waits for its manifest", "[sweep]") {
  SweptYard yard;
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

TEST_CASE("a job that was deleted leaves no file", "[sweep]") {
  SweptYard yard;
  yard.put("x");
  value_of(yard.logs.append({yard.job.id, 1, Role::ps, 0}, 0, "line\n"));
  Sweep sweep = yard.sweep(seconds(3600));
  CHECK(sweep.jobs_with_files() == std::vector{yard.job.id});
  save(yard.store, {RemoveJob{yard.job.id}});

  value_of(sweep.remove(yard.job.id));

  CHECK(sweep.jobs_with_files().empty());
  CHECK(yard.lost_and_found().empty());
}

TEST_CASE("what the database does not know is set aside, not removed [mend-A4]", "[sweep]") {
  SweptYard yard;
  const ArtifactFile file = yard.put("the only copy");
  value_of(yard.logs.append({yard.job.id, 1, Role::ps, 0}, 0, "line\n"));
  value_of(make_folders(yard.folder.path("artifacts/no job")));
  Sweep sweep = yard.sweep(Millis{0});
  save(yard.store, {RemoveJob{yard.job.id}});  // as if another database lay here

  for (const JobId& job : sweep.jobs_with_files()) value_of(sweep.sweep(job));

  CHECK(sweep.jobs_with_files().empty());
  CHECK(yard.lost_and_found() ==
        std::set<std::string>{"artifacts-j-1", "logs-j-1", "artifacts-no job"});
  CHECK(value_of(read_file(yard.folder.path("lost+found/artifacts-j-1/" + file.sha256))) ==
        "the only copy");

  // Once more of the same name: both stay.
  yard.put("another copy");
  value_of(sweep.sweep(yard.job.id));
  CHECK(yard.lost_and_found().contains("artifacts-j-1-2"));
}

TEST_CASE("a file that was here before the server and no row names is set aside [mend-A4]",
          "[sweep]") {
  SweptYard yard;
  const ArtifactFile before = yard.put("of a checkpoint that the older database does not know");
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(yard.folder.path("artifacts/j-1/" + before.sha256), long_ago);
  yard.folder.write("artifacts/j-1/" + sha256_hex("y") + ".part", "half");
  Sweep sweep = yard.sweep(Millis{-60'000});  // nothing is young
  const ArtifactFile since = yard.put("of an attempt that died before its manifest");
  std::filesystem::last_write_time(
      yard.folder.path("artifacts/j-1/" + since.sha256),
      std::filesystem::file_time_type::clock::now() + std::chrono::seconds(10));

  CHECK(value_of(sweep.sweep(yard.job.id)) == Sweep::Left::nothing);

  CHECK(names_in(yard.folder.path("artifacts/j-1")).empty());
  CHECK(yard.lost_and_found() == std::set<std::string>{"artifacts-j-1-" + before.sha256});
}

TEST_CASE("what was set aside is kept for 7 days [mend-A4]", "[sweep]") {
  SweptYard yard;
  yard.put("x");
  const auto years_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(99'999);
  std::filesystem::last_write_time(yard.folder.path("artifacts/j-1"), years_ago);
  save(yard.store, {RemoveJob{yard.job.id}});
  Sweep sweep = yard.sweep(Millis{0});
  const WallTime now = read_clocks().wall;
  value_of(sweep.sweep(yard.job.id));

  value_of(sweep.empty_lost_and_found(now + lost_and_found_time + Millis{-1}));
  CHECK(yard.lost_and_found() == std::set<std::string>{"artifacts-j-1"});
  value_of(sweep.empty_lost_and_found(now + lost_and_found_time + seconds(60)));
  CHECK(yard.lost_and_found().empty());
}
