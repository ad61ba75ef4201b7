// The real loop on a real database that refuses a transaction: nothing of it reaches anybody.
#include "scheduler/loop/loop.h"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "schemas/base/clock.h"
#include "tests/scheduler/core/plain_tokens.h"
#include "tests/scheduler/store/fixtures.h"
#include "tests/support/waiting.h"

namespace trainyard::scheduler {
namespace {

struct LoopYard {
  TempFolder folder;
  Artifacts artifacts{folder.path("artifacts")};
  Scheduler::Counters counters;
  Loop loop{value_of(Store::open(database_of(folder))), artifacts, {}, counters};
  std::vector<Assignment> sent;
  std::vector<Refusal> refused;
  std::vector<JobId> announced;

  LoopYard() {
    REQUIRE(loop.prepare(plain_tokens(),
                         {.send = [this](const Assignment& one) { sent.push_back(one); },
                          .refuse = [this](const Refusal& one) { refused.push_back(one); },
                          .announce = [this](const JobId& one) { announced.push_back(one); },
                          .files_unused = [](const JobId&) {},
                          .removed = [](const JobId&) {}}));
  }

  void forget() {
    sent.clear();
    refused.clear();
    announced.clear();
  }

  // Lets the loop run on a thread until it has a core again; false at the deadline.
  bool runs_until_it_is_back() {
    std::thread thread([this] { loop.run(); });
    const Deadline deadline = in_patience();
    bool is_back = false;
    while (!is_back && !is_past(deadline)) {
      std::promise<bool> asked;
      if (!loop.post([&asked](Loop& at) { asked.set_value(at.core() != nullptr); })) break;
      is_back = asked.get_future().get();
    }
    loop.close();
    thread.join();
    return is_back;
  }

  // By another connection, as another program could.
  void execute(const std::string& sql) {
    Db db = value_of(Db::open(database_of(folder), Access::read_write));
    REQUIRE(db.execute(sql));
  }
};

AgentReport report(std::int64_t number, const std::string& instance = "folder") {
  AgentReport one;
  one.agent = AgentId{"a"};
  one.instance = instance;
  one.epoch = 1;
  one.number = number;
  one.host.address = "10.0.0.1";
  one.host.capacity = {8, 16'000, 0};
  one.host.first_port = 20'000;
  one.host.last_port = 20'099;
  return one;
}

Submit new_job() {
  Job job = a_job("j", 1);
  job.state = JobState::queued;
  job.attempt = 0;
  job.not_before = {};
  job.transitions.clear();
  job.first_failure.reset();
  return {job};
}

}  // namespace

TEST_CASE("what could not be saved is neither sent, refused, announced nor answered as done",
          "[loop][mend-C]") {
  LoopYard yard;
  yard.loop.step(report(1));
  yard.loop.commit();
  REQUIRE(yard.sent.size() == 1);
  yard.forget();

  yard.execute(
      "CREATE TRIGGER no_room BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'full'); END");
  const Loop::Stepped stepped = yard.loop.step(new_job());
  REQUIRE(stepped.outcome);
  bool places_gang = false;
  for (const Change& change : stepped.changes) {
    places_gang = places_gang || std::holds_alternative<SaveTask>(change);
  }
  REQUIRE(places_gang);                         // so an assignment is about to leave
  yard.loop.step(report(2, "another folder"));  // and a refusal
  Status answer = ok();
  yard.loop.when_saved([&answer](const Status& saved) { answer = saved; });
  yard.loop.commit();

  CHECK(yard.sent.empty());
  CHECK(yard.refused.empty());
  CHECK(yard.announced.empty());
  CHECK_FALSE(answer);
  CHECK_FALSE(yard.loop.health().look(steady_now()).database.empty());
  CHECK(yard.loop.step(report(2)).outcome.error().code == Code::unavailable);
  yard.loop.commit();
  CHECK(yard.sent.empty());

  // With room again it goes on from what is stored, and no earlier.
  yard.execute("DROP TRIGGER no_room");
  CHECK(yard.runs_until_it_is_back());
  yard.forget();
  yard.loop.step(report(3));
  REQUIRE(yard.loop.step(new_job()).outcome);
  yard.loop.commit();
  REQUIRE(yard.sent.size() == 1);
  CHECK(yard.sent.front().tasks.size() == 3);
}

}  // namespace trainyard::scheduler
