// How a job's parameters are divided, as it is kept.
#include <catch2/catch.hpp>

#include "scheduler/store/reader.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

Partition on_ps(std::int64_t count) {
  Partition partition{.policy = Partitioning::round_robin, .shares = {}, .tables = {"rows"}};
  for (std::int64_t i = 0; i < count; ++i) {
    partition.shares.push_back({.task = "ps/" + std::to_string(i),
                                .bytes = 400 * i,
                                .transport = "tcp",
                                .variables = {{.name = "w", .bytes = 400 * i, .pieces = 1}},
                                .variables_left_out = 2});
  }
  return partition;
}

}  // namespace

TEST_CASE("a partition is there after the server starts again", "[store]") {
  const TempFolder folder;
  const Job job = a_job("j-1", 1);
  {
    Store store = open_store(folder);
    save(store, {SaveJob{job}, SavePartition{job.id, 1, on_ps(2)}});
  }
  const Store store = open_store(folder);
  Reader reader = value_of(Reader::open(database_of(folder)));
  CHECK(value_of(reader.partition(job.id)) == PartitionRow{1, on_ps(2)});
  CHECK(value_of(reader.partition(JobId{"none"})) == std::nullopt);
}

TEST_CASE("the partition of the next attempt takes the place of the last", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  const Job other = a_job("j-2", 2);
  save(store, {SaveJob{job}, SaveJob{other}, SavePartition{job.id, 1, on_ps(2)},
               SavePartition{other.id, 1, on_ps(1)}});
  save(store, {SavePartition{job.id, 2, on_ps(3)}});

  Reader reader = value_of(Reader::open(database_of(folder)));
  CHECK(value_of(reader.partition(job.id)) == PartitionRow{2, on_ps(3)});
  CHECK(value_of(reader.partition(other.id)) == PartitionRow{1, on_ps(1)});
}

TEST_CASE("a removed job takes its partition along", "[store]") {
  const TempFolder folder;
  Store store = open_store(folder);
  const Job job = a_job("j-1", 1);
  save(store, {SaveJob{job}, SavePartition{job.id, 1, on_ps(2)}});
  save(store, {RemoveJob{job.id}});
  Reader reader = value_of(Reader::open(database_of(folder)));
  CHECK(value_of(reader.partition(job.id)) == std::nullopt);
}
