// The Scheduler without agents: what is answered is saved, keys, restarts, refusals, disks that are
// full.
#include "scheduler/loop/scheduler.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <set>

#include "scheduler/loop/counters.h"
#include "tests/scheduler/loop/yard.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::scheduler;

TEST_CASE("a submitted job is queued, stored and readable when it is answered", "[loop]") {
  Yard yard;

  const Submitted submitted = value_of(yard.submit(a_request()));

  CHECK_FALSE(submitted.replayed);
  CHECK(submitted.job.state == JobState::queued);
  CHECK(submitted.job.id.text.starts_with("j-"));
  CHECK(submitted.job.spec_hash == sha256_hex(submitted.job.spec_json));
  CHECK(submitted.job.created_at.is_set());
  CHECK(value_of(yard.reader().job(submitted.job.id)) == submitted.job);
}

TEST_CASE("jobs keep their order and their secrets over a restart", "[loop]") {
  Yard yard;
  const Job first = value_of(yard.submit(a_request())).job;
  const Job second = value_of(yard.submit(a_request())).job;
  CHECK(second.sequence == first.sequence + 1);

  yard.restart();

  const Job third = value_of(yard.submit(a_request())).job;
  CHECK(third.sequence == second.sequence + 1);
  CHECK(value_of(yard.reader().job(first.id)).token_seed == first.token_seed);
  const JobPage page = value_of(yard.reader().jobs({}, {10}, std::nullopt));
  CHECK(page.jobs.size() == 3);
}

TEST_CASE("the same key with the same request is the same job, with another one a conflict",
          "[loop]") {
  Yard yard;
  NewJob request = a_request();
  request.idempotency_key = "key";
  request.request_hash = "hash-1";
  const Job job = value_of(yard.submit(request)).job;

  SECTION("at once") {}
  SECTION("after a restart") { yard.restart(); }

  const Submitted again = value_of(yard.submit(request));
  CHECK(again.replayed);
  CHECK(again.job.id == job.id);
  request.request_hash = "hash-2";
  CHECK(yard.submit(request).error().code == Code::conflict);
  CHECK(value_of(yard.reader().jobs({}, {10}, std::nullopt)).jobs.size() == 1);
}

TEST_CASE("many requests at once with one key make one job", "[loop]") {
  Yard yard;
  NewJob request = a_request();
  request.idempotency_key = "key";
  request.request_hash = "hash";
  std::vector<std::future<Result<Submitted>>> answers;
  for (int i = 0; i < 50; ++i) {
    const auto promise = std::make_shared<std::promise<Result<Submitted>>>();
    answers.push_back(promise->get_future());
    yard.scheduler().submit(request,
                            [promise](auto result) { promise->set_value(std::move(result)); });
  }

  std::set<JobId> ids;
  int made = 0;
  for (auto& answer : answers) {
    REQUIRE(answer.wait_for(patience) == std::future_status::ready);
    const Submitted submitted = value_of(answer.get());
    ids.insert(submitted.job.id);
    made += submitted.replayed ? 0 : 1;
  }

  CHECK(ids.size() == 1);
  CHECK(made == 1);
}

TEST_CASE("a job is cancelled, which can be asked twice, and then deleted", "[loop]") {
  Yard yard;
  const JobId id = value_of(yard.submit(a_request())).job.id;
  CHECK(yard.remove(id).error().code == Code::conflict);

  CHECK(value_of(yard.act(id, JobAction::cancel)).state == JobState::cancelled);
  CHECK(value_of(yard.act(id, JobAction::cancel)).state == JobState::cancelled);
  CHECK(yard.act(id, JobAction::resume).error().code == Code::conflict);
  CHECK(yard.act(id, JobAction::suspend).error().code == Code::conflict);
  value_of(yard.remove(id));

  CHECK(yard.reader().job(id).error().code == Code::not_found);
  CHECK(yard.remove(id).error().code == Code::not_found);
  CHECK(yard.act(id, JobAction::cancel).error().code == Code::not_found);
}

TEST_CASE("a suspended job goes on after a restart", "[loop]") {
  Yard yard;
  const JobId id = value_of(yard.submit(a_request())).job.id;
  CHECK(value_of(yard.act(id, JobAction::suspend)).state == JobState::suspended);

  yard.restart();

  CHECK(value_of(yard.act(id, JobAction::resume)).state == JobState::queued);
}

TEST_CASE("a job that is to resume from a checkpoint that is not there is refused", "[loop]") {
  Yard yard;
  const auto request = a_request(R"(, "checkpoint": {"resume_from": "j-0123456789/100"})");
  const auto submitted = yard.submit(request);
  const auto planned =
      answer_to<Planned>([&](auto done) { yard.scheduler().plan(request.spec, std::move(done)); });

  REQUIRE(submitted);
  REQUIRE(submitted->faults.size() == 1);
  CHECK(submitted->faults[0].pointer == "/checkpoint/resume_from");
  REQUIRE(planned);
  CHECK(planned->plan.faults == submitted->faults);
}

TEST_CASE("questions about jobs, plans and agents are answered", "[loop]") {
  Yard yard;
  const JobId id = value_of(yard.submit(a_request())).job.id;

  const auto explained = value_of(answer_to<std::optional<Explanation>>(
      [&](auto done) { yard.scheduler().explain(id, std::move(done)); }));
  REQUIRE(explained);
  CHECK(explained->queue_position == 1);
  CHECK_FALSE(value_of(answer_to<Planned>([&](auto done) {
                yard.scheduler().plan(a_request().spec, std::move(done));
              })).plan.placeable_now);
  CHECK(value_of(yard.agents()).empty());
  CHECK(answer_to<AgentView>([&](auto done) {
          yard.scheduler().set_cordon(AgentId{"nobody"}, true, std::move(done));
        })
            .error()
            .code == Code::not_found);
}

TEST_CASE("two servers never share a state folder", "[loop]") {
  Yard yard;

  const auto second =
      Scheduler::start({.state_dir = yard.path(""), .agent_address = "127.0.0.1:0", .limits = {}});

  REQUIRE_FALSE(second);
  CHECK(second.error().code == Code::conflict);
  CHECK(second.error().message.find("in use") != std::string::npos);
}

TEST_CASE("an agent address that is taken or makes no sense is an error", "[loop]") {
  Yard yard;
  const TempFolder folder;
  const auto start_at = [&folder](const std::string& address) {
    return Scheduler::start({.state_dir = folder.path(), .agent_address = address, .limits = {}});
  };

  const Error taken = start_at(yard.agent_address()).error();
  CHECK(taken.code == Code::unavailable);
  CHECK(taken.message ==
        "cannot listen for agents on " + yard.agent_address() + ": Address already in use");
  CHECK(start_at("nonsense").error().code == Code::invalid);
}

// Not a test of its own: the process that the next one kills. Its folder is named by the
// environment.
TEST_CASE("a server that is killed after its tenth answer", "[.killed]") {
  const auto scheduler =
      value_of(Scheduler::start({.state_dir = std::getenv("TRAINYARD_TEST_FOLDER"),
                                 .agent_address = "127.0.0.1:0",
                                 .limits = {}}));
  for (int i = 1; i <= 20; ++i) {
    scheduler->submit(a_request(), [i](Result<Submitted> result) {
      std::cout << value_of(std::move(result)).job.id.text << std::endl;
      if (i == 10) ::kill(::getpid(), SIGKILL);
    });
  }
  ::pause();
}

TEST_CASE("what was answered is there after a kill -9 in the next instant", "[loop]") {
  const TempFolder folder;
  const std::string answers = folder.path("answers");
  const std::string command = "TRAINYARD_TEST_FOLDER=" + folder.path("state") + " " +
                              std::filesystem::read_symlink("/proc/self/exe").string() +
                              " '[.killed]' > " + answers + " 2>/dev/null";
  REQUIRE(std::system(command.c_str()) != 0);

  Store store = value_of(Store::open(folder.path("state/trainyard.db")));

  std::ifstream lines(answers);
  int acknowledged = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("j-")) continue;
    CHECK(store.job(JobId{line}));
    ++acknowledged;
  }
  CHECK(acknowledged == 10);
}

namespace {

// While it lives no file of this process can grow beyond `bytes`: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("on a full disk nothing is answered as done, and it goes on once there is room",
          "[loop]") {
  Yard yard;
  const JobId kept = value_of(yard.submit(a_request())).job.id;
  {
    const FullDisk full(1);
    CHECK(yard.submit(a_request()).error().code == Code::unavailable);
    CHECK_FALSE(yard.scheduler().readiness().ready());
    CHECK(yard.submit(a_request()).error().code == Code::unavailable);
    CHECK(yard.scheduler().counters().failed_saves > 0);
  }

  CHECK(eventually([&] {
    (void)yard.agents();  // each answer is a turn of the loop
    return yard.scheduler().readiness().ready();
  }));
  CHECK(value_of(yard.submit(a_request())).job.state == JobState::queued);
  CHECK(value_of(yard.reader().jobs({}, {10}, std::nullopt)).jobs.size() == 2);
  CHECK(value_of(yard.act(kept, JobAction::cancel)).state == JobState::cancelled);
}

TEST_CASE("after stop() every request is refused at once", "[loop]") {
  Yard yard;
  yard.scheduler().stop();

  CHECK(yard.submit(a_request()).error().code == Code::unavailable);
  CHECK(yard.scheduler().readiness().scheduler == "the scheduler has ended");
}

TEST_CASE("with a full disk and nothing to save it is not ready, and says why", "[loop][mend-A7]") {
  Yard yard;
  const auto wait_for = [&](bool ready) {
    CHECK(eventually([&] {
      (void)yard.agents();  // a turn of the loop that saves nothing
      return yard.scheduler().readiness().ready() == ready;
    }));
    return yard.scheduler().readiness();
  };
  REQUIRE(wait_for(true).ready());
  {
    const FullDisk full(1);
    const Readiness readiness = wait_for(false);
    CHECK(readiness.scheduler.empty());
    CHECK(readiness.database.starts_with("the newest write failed (database: "));
  }
  CHECK(wait_for(true).ready());
  CHECK(value_of(yard.submit(a_request())).job.state == JobState::queued);
}

TEST_CASE("a scheduler that is stuck is not ready, and is again once it goes on",
          "[loop][mend-A7]") {
  const TempFolder folder;
  const auto scheduler = value_of(Scheduler::start({.state_dir = folder.path("state"),
                                                    .agent_address = "127.0.0.1:0",
                                                    .limits = {},
                                                    .silence_max = Millis{200}}));
  const auto wait_for = [&](bool ready) {
    CHECK(eventually([&] { return scheduler->readiness().ready() == ready; }));
    return scheduler->readiness();
  };
  REQUIRE(wait_for(true).ready());
  std::promise<void> go_on;
  scheduler->agents([go = go_on.get_future().share()](const auto&) { go.wait(); });

  const Readiness stuck = wait_for(false);
  CHECK(stuck.scheduler.starts_with("the scheduler's thread has been stuck for "));
  CHECK(stuck.database.empty());
  go_on.set_value();
  CHECK(wait_for(true).ready());
}
