// The desk that writes snapshots in the background.
#include "runtime/net/snapshot_desk.h"

#include <catch2/catch.hpp>
#include <future>
#include <semaphore>

namespace trainyard::runtime {
namespace {

Snapshot snapshot_of(std::int64_t step) {
  return {.step = step, .version = step, .rank_steps = {}, .weights = nullptr, .slots = {}};
}

ArtifactFile file_of(std::int64_t step) {
  return {.name = std::to_string(step), .bytes = 1, .sha256 = ""};
}

SnapshotFiles named_by_step() {
  return {.write = [](const Snapshot& snapshot) -> Result<ArtifactFile> {
            return file_of(snapshot.step);
          },
          .keep_only = [](const auto&) {}};
}

Result<WrittenShard> ask(SnapshotDesk& desk, SnapshotDesk::Request request) {
  std::promise<Result<WrittenShard>> shard;
  desk.when_written(std::move(request),
                    [&shard](Result<WrittenShard> given) { shard.set_value(std::move(given)); });
  return shard.get_future().get();
}

}  // namespace

TEST_CASE("whoever asks before or after gets the shard of the step", "[snapshot_desk]") {
  SnapshotDesk desk(named_by_step());
  std::promise<Result<WrittenShard>> early;
  desk.when_written({.step = 7, .keep_steps = {}},
                    [&early](Result<WrittenShard> given) { early.set_value(std::move(given)); });
  CHECK_FALSE(desk.knows(7));
  desk.take(snapshot_of(7));
  CHECK(early.get_future().get()->file.name == "7");
  CHECK(ask(desk, {.step = 7, .keep_steps = {}})->version == 7);
  CHECK(desk.knows(7));
}

TEST_CASE("the desk knows a step only once it has seen it, step 0 too", "[snapshot_desk]") {
  SnapshotDesk desk(named_by_step());
  CHECK_FALSE(desk.knows(0));
  desk.take(snapshot_of(0));
  CHECK(desk.knows(0));
}

TEST_CASE("a failure to write reaches who asks", "[snapshot_desk]") {
  SnapshotFiles files = named_by_step();
  files.write = [](const Snapshot&) -> Result<ArtifactFile> { return unavailable("disk full"); };
  SnapshotDesk desk(std::move(files));
  desk.take(snapshot_of(1));
  CHECK(ask(desk, {.step = 1, .keep_steps = {}}).error() == internal("disk full"));
}

TEST_CASE("a third snapshot is refused while two wait for the disk", "[snapshot_desk]") {
  std::binary_semaphore begun(0);
  std::binary_semaphore go_on(0);
  SnapshotFiles files = named_by_step();
  files.write = [&](const Snapshot& snapshot) -> Result<ArtifactFile> {
    if (snapshot.step == 1) {
      begun.release();
      go_on.acquire();
    }
    return file_of(snapshot.step);
  };
  SnapshotDesk desk(std::move(files));
  desk.take(snapshot_of(1));
  begun.acquire();
  desk.take(snapshot_of(2));
  desk.take(snapshot_of(3));
  desk.take(snapshot_of(4));
  CHECK(ask(desk, {.step = 4, .keep_steps = {}}).error().code == Code::internal);
  go_on.release();
  CHECK(ask(desk, {.step = 3, .keep_steps = {}})->file.name == "3");
}

TEST_CASE("what is queued is written before the desk ends, the rest is told so",
          "[snapshot_desk]") {
  std::vector<std::int64_t> written;
  std::optional<Result<WrittenShard>> never;
  {
    SnapshotFiles files = named_by_step();
    files.write = [&written](const Snapshot& snapshot) -> Result<ArtifactFile> {
      written.push_back(snapshot.step);
      return ArtifactFile{};
    };
    SnapshotDesk desk(std::move(files));
    desk.when_written({.step = 9, .keep_steps = {}},
                      [&never](Result<WrittenShard> given) { never = given; });
    desk.take(snapshot_of(1));
    desk.take(snapshot_of(2));
  }
  CHECK(written == std::vector<std::int64_t>{1, 2});
  REQUIRE(never);
  CHECK(never->error().code == Code::unavailable);
}

TEST_CASE("retention is told once the new shard is durable", "[snapshot_desk]") {
  std::vector<std::int64_t> kept;
  SnapshotFiles files = named_by_step();
  files.keep_only = [&kept](const std::vector<std::int64_t>& steps) { kept = steps; };
  SnapshotDesk desk(std::move(files));
  desk.take(snapshot_of(3));
  REQUIRE(ask(desk, {.step = 3, .keep_steps = {1, 3}}).has_value());
  CHECK(kept == std::vector<std::int64_t>{1, 3});
}

}  // namespace trainyard::runtime
