// Reader: pages, filters and what is durable.
#include "scheduler/store/reader.h"

#include <catch2/catch.hpp>

#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

std::vector<std::string> ids_of(const JobPage& page) {
  std::vector<std::string> ids;
  for (const Job& job : page.jobs) ids.push_back(job.id.text);
  return ids;
}

// Five jobs j-1 ... j-5; odd ones queued and of team "a", even ones succeeded and of team "b"; j-5
// has another name.
void save_five_jobs(Store& store) {
  std::vector<Change> changes;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    Job job = a_job("j-" + std::to_string(i), i);
    const bool odd = i % 2 == 1;
    job.state = odd ? JobState::queued : JobState::succeeded;
    job.spec.labels["team"] = odd ? "a" : "b";
    if (i == 5) job.spec.name = "fifth";
    job.spec_json = to_json(job.spec);
    job.spec_hash = sha256_hex(job.spec_json);
    changes.emplace_back(SaveJob{job});
  }
  save(store, changes);
}

}  // namespace

TEST_CASE("a reader shows a job as it was saved, and no other", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Reader reader = value_of(Reader::open(database_of(folder)));
  const Job job = a_job("j-1", 1);
  CHECK(reader.job(job.id).error().code == Code::not_found);

  save(store, {SaveJob{job}});

  CHECK(value_of(reader.job(job.id)) == job);
}

TEST_CASE("a reader cannot be opened where there is no database", "[reader]") {
  const TempFolder folder;
  CHECK_FALSE(Reader::open(database_of(folder)));
}

TEST_CASE("pages go from the newest job to the oldest, each job once", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  Reader reader = value_of(Reader::open(database_of(folder)));

  const JobPage first = value_of(reader.jobs({}, {2}, std::nullopt));
  const JobPage second = value_of(reader.jobs({}, {2}, first.next_before));
  save(store, {SaveJob{a_job("j-6", 6)}});  // a new one does not shift the pages
  const JobPage third = value_of(reader.jobs({}, {2}, second.next_before));

  CHECK(ids_of(first) == std::vector<std::string>{"j-5", "j-4"});
  CHECK(ids_of(second) == std::vector<std::string>{"j-3", "j-2"});
  CHECK(ids_of(third) == std::vector<std::string>{"j-1"});
  CHECK_FALSE(third.next_before);
}

TEST_CASE("jobs are found by a part of their name, in either case, and nothing in it is a pattern",
          "[reader][mend-B11]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  Reader reader = value_of(Reader::open(database_of(folder)));
  const auto found = [&](const std::string& part) {
    return ids_of(value_of(reader.jobs({.name_contains = part}, {50}, std::nullopt)));
  };

  CHECK(found("IFT") == std::vector<std::string>{"j-5"});
  CHECK(found("fifth") == std::vector<std::string>{"j-5"});
  CHECK(found("%").empty());
  CHECK(found("f_fth").empty());
}

TEST_CASE("a page that ends with the last job names no next page", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  Reader reader = value_of(Reader::open(database_of(folder)));

  CHECK_FALSE(value_of(reader.jobs({}, {5}, std::nullopt)).next_before);
}

TEST_CASE("jobs are filtered by state, name and all labels at once", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  Reader reader = value_of(Reader::open(database_of(folder)));
  const auto find = [&reader](const JobFilter& filter) {
    return ids_of(value_of(reader.jobs(filter, {10}, std::nullopt)));
  };

  CHECK(find({.state = JobState::succeeded}) == std::vector<std::string>{"j-4", "j-2"});
  CHECK(find({.name = "fifth"}) == std::vector<std::string>{"j-5"});
  CHECK(find({.labels = {{"team", "b"}}}) == std::vector<std::string>{"j-4", "j-2"});
  CHECK(find({.labels = {{"team", "a"}, {"stage", "test"}}}).size() == 3);
  CHECK(find({.labels = {{"team", "a"}, {"stage", "live"}}}).empty());
  CHECK(find({.state = JobState::queued, .name = "digits", .labels = {{"team", "a"}}}) ==
        std::vector<std::string>{"j-3", "j-1"});
  CHECK(find({.name = "x' OR '1'='1"}).empty());
}

TEST_CASE("pages that make no sense are refused", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Reader reader = value_of(Reader::open(database_of(folder)));

  CHECK(reader.jobs({}, {0}, std::nullopt).error().code == Code::invalid);
  JobFilter many;
  many.labels.assign(17, {"k", "v"});
  CHECK(reader.jobs(many, {10}, std::nullopt).error().code == Code::invalid);
}

TEST_CASE("tasks of one attempt or of all, checkpoints that are committed, counts by state",
          "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  const Job job = a_job("j-1", 1);
  TaskAttempt earlier = a_task(job, Role::worker, 0);
  earlier.key.attempt = 1;
  save(store, {SaveTask{a_task(job, Role::worker, 0)}, SaveTask{earlier},
               SaveCheckpoint{a_checkpoint(job, 20)}, SaveCheckpoint{a_checkpoint(job, 10)},
               SaveCheckpoint{a_checkpoint(job, 30, CheckpointState::pending)}});
  Reader reader = value_of(Reader::open(database_of(folder)));

  CHECK(value_of(reader.tasks(job.id, std::nullopt)) ==
        std::vector{earlier, a_task(job, Role::worker, 0)});
  CHECK(value_of(reader.tasks(job.id, 1)) == std::vector{earlier});
  CHECK(value_of(reader.checkpoints(job.id)) ==
        std::vector{a_checkpoint(job, 10), a_checkpoint(job, 20)});
  CHECK(value_of(reader.count_jobs_by_state()) ==
        std::map<std::string, std::int64_t>{{"queued", 3}, {"succeeded", 2}});
}

TEST_CASE("a job's events are read from any one on, each with its id", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  save_five_jobs(store);
  const auto event = [](const std::string& job, const std::string& message) {
    return AppendJobEvent{.job = JobId{job},
                          .kind = "transition",
                          .message = message,
                          .task = "worker/0",
                          .reason = Reason::gang_placed,
                          .attempt = 2,
                          .time = {77}};
  };
  save(store,
       {event("j-1", "one"), event("j-2", "other"), event("j-1", "two"), event("j-1", "three")});
  Reader reader = value_of(Reader::open(database_of(folder)));

  const auto first = value_of(reader.events(JobId{"j-1"}, 0, 2));
  REQUIRE(first.size() == 2);
  const auto rest = value_of(reader.events(JobId{"j-1"}, first.back().id, 10));

  CHECK(first[0].message == "one");
  CHECK(first[0].kind == "transition");
  CHECK(first[0].task == "worker/0");
  CHECK(first[0].reason == Reason::gang_placed);
  CHECK(first[0].attempt == 2);
  CHECK(first[0].time == WallTime{77});
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].message == "three");
  CHECK(rest[0].id > first[1].id);
}

TEST_CASE("a reader sees nothing of a transaction that was not committed", "[reader]") {
  const TempFolder folder;
  Store store = open_store(folder);
  Reader reader = value_of(Reader::open(database_of(folder)));
  Db db = value_of(Db::open(database_of(folder), Access::read_write));
  Transaction open = value_of(Transaction::begin(db));
  value_of(save_job(db, a_job("j-1", 1)));

  CHECK(value_of(reader.count_jobs_by_state()).empty());

  value_of(open.commit());
  CHECK(value_of(reader.count_jobs_by_state()).size() == 1);
}
