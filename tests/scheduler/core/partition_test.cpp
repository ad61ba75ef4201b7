// What the core makes of a chief that tells how the parameters are divided.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

PartitionEvent told(std::int64_t bytes) {
  return {.partition = {.policy = Partitioning::chunks,
                        .shares = {{.task = "ps/0", .bytes = bytes}},
                        .tables = {}}};
}

Yard running_job() {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  return yard;
}

}  // namespace

TEST_CASE("the chief's partition is saved with its attempt, and readers of the job hear of it",
          "[scheduler]") {
  Yard yard = running_job();
  const std::int64_t version = yard.job("j").version;
  yard.tell("a", "worker/0", told(100));
  REQUIRE(yard.partitions.size() == 1);
  CHECK(yard.partitions.at(JobId{"j"}).attempt == 1);
  CHECK(yard.partitions.at(JobId{"j"}).partition == told(100).partition);
  CHECK(yard.job("j").version > version);
}

TEST_CASE("nobody but the chief says how the parameters are divided", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/1", told(100));
  yard.tell("a", "ps/0", told(100));
  CHECK(yard.partitions.empty());
}

TEST_CASE("a partition that is sent again is saved once", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", told(100));
  yard.partitions.clear();
  yard.speak("a");
  CHECK(yard.partitions.empty());
}

TEST_CASE("the chief of the next attempt says anew how the parameters are divided", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", told(100));
  for (const char* task : {"worker/1", "worker/0", "ps/0"}) {
    yard.end("a", task, {std::nullopt, 9});
  }
  for (int i = 0; i < 100 && yard.job("j").state != JobState::running; ++i) {
    yard.pass(Millis{1000});
    yard.obey("a");
  }
  REQUIRE(yard.job("j").state == JobState::running);
  REQUIRE(yard.job("j").attempt == 2);
  yard.tell("a", "worker/0", told(200));
  CHECK(yard.partitions.at(JobId{"j"}).attempt == 2);
  CHECK(yard.partitions.at(JobId{"j"}).partition == told(200).partition);
}

}  // namespace trainyard::scheduler
