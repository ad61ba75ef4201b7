// Who writes snapshots in the background.
#include "runtime/net/chunks/snapshot_writer.h"

#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <semaphore>

namespace trainyard::runtime {
namespace {

ShareSnapshot snapshot_of(std::int64_t step) {
  return {.step = step, .version = step, .rank_steps = {}, .weights = {}, .slots = {}};
}

ArtifactFile file_of(std::int64_t step) {
  return {.name = std::to_string(step), .bytes = 1, .sha256 = ""};
}

SnapshotFiles named_by_step() {
  return {.write = [](const ShareSnapshot& snapshot) -> Result<ArtifactFile> {
            return file_of(snapshot.step);
          },
          .keep_only = [](const auto&) {}};
}

Result<WrittenShard> ask(SnapshotWriter& writer, SnapshotWriter::Request request) {
  std::promise<Result<WrittenShard>> shard;
  writer.when_written(std::move(request),
                      [&shard](Result<WrittenShard> given) { shard.set_value(std::move(given)); });
  return shard.get_future().get();
}

}  // namespace

TEST_CASE("whoever asks before or after gets the shard of the step", "[snapshot_writer]") {
  SnapshotWriter writer(named_by_step());
  std::promise<Result<WrittenShard>> early;
  writer.when_written({.step = 7, .keep_steps = {}},
                      [&early](Result<WrittenShard> given) { early.set_value(std::move(given)); });
  CHECK_FALSE(writer.knows(7));
  writer.take(snapshot_of(7));
  CHECK(early.get_future().get()->file.name == "7");
  CHECK(ask(writer, {.step = 7, .keep_steps = {}})->version == 7);
  CHECK(writer.knows(7));
}

TEST_CASE("the writer knows a step only once it has seen it, step 0 too", "[snapshot_writer]") {
  SnapshotWriter writer(named_by_step());
  CHECK_FALSE(writer.knows(0));
  writer.take(snapshot_of(0));
  CHECK(writer.knows(0));
}

TEST_CASE("a failure to write reaches who asks", "[snapshot_writer]") {
  SnapshotFiles files = named_by_step();
  files.write = [](const ShareSnapshot&) -> Result<ArtifactFile> {
    return unavailable("disk full");
  };
  SnapshotWriter writer(std::move(files));
  writer.take(snapshot_of(1));
  CHECK(ask(writer, {.step = 1, .keep_steps = {}}).error() == internal("disk full"));
}

TEST_CASE("a third snapshot is refused while two wait for the disk", "[snapshot_writer]") {
  std::binary_semaphore begun(0);
  std::binary_semaphore go_on(0);
  SnapshotFiles files = named_by_step();
  files.write = [&](const ShareSnapshot& snapshot) -> Result<ArtifactFile> {
    if (snapshot.step == 1) {
      begun.release();
      go_on.acquire();
    }
    return file_of(snapshot.step);
  };
  SnapshotWriter writer(std::move(files));
  writer.take(snapshot_of(1));
  begun.acquire();
  writer.take(snapshot_of(2));
  writer.take(snapshot_of(3));
  writer.take(snapshot_of(4));
  CHECK(ask(writer, {.step = 4, .keep_steps = {}}).error().code == Code::internal);
  go_on.release();
  CHECK(ask(writer, {.step = 3, .keep_steps = {}})->file.name == "3");
}

TEST_CASE("what is queued is written before the writer ends, the rest is told so",
          "[snapshot_writer]") {
  std::vector<std::int64_t> written;
  std::optional<Result<WrittenShard>> never;
  {
    SnapshotFiles files = named_by_step();
    files.write = [&written](const ShareSnapshot& snapshot) -> Result<ArtifactFile> {
      written.push_back(snapshot.step);
      return ArtifactFile{};
    };
    SnapshotWriter writer(std::move(files));
    writer.when_written({.step = 9, .keep_steps = {}},
                        [&never](Result<WrittenShard> given) { never = given; });
    writer.take(snapshot_of(1));
    writer.take(snapshot_of(2));
  }
  CHECK(written == std::vector<std::int64_t>{1, 2});
  REQUIRE(never);
  CHECK(never->error().code == Code::unavailable);
}

TEST_CASE("retention is told once the new shard is durable", "[snapshot_writer]") {
  std::vector<std::int64_t> kept;
  SnapshotFiles files = named_by_step();
  files.keep_only = [&kept](const std::vector<std::int64_t>& steps) { kept = steps; };
  SnapshotWriter writer(std::move(files));
  writer.take(snapshot_of(3));
  REQUIRE(ask(writer, {.step = 3, .keep_steps = {1, 3}}).has_value());
  CHECK(kept == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("the newest that is written can be read back where that is asked for",
          "[snapshot_writer]") {
  SnapshotFiles files = named_by_step();
  SnapshotWriter forgets(files);
  files.keeps_newest = true;
  SnapshotWriter keeps(files);
  for (SnapshotWriter* const writer : {&forgets, &keeps}) {
    writer->take(snapshot_of(3));
    REQUIRE(ask(*writer, {.step = 3, .keep_steps = {}}).has_value());
  }
  CHECK((*keeps.newest(3))->version == 3);
  CHECK(keeps.newest(2).error().code == Code::not_found);
  CHECK(forgets.newest(3).error().code == Code::not_found);
}

}  // namespace trainyard::runtime
