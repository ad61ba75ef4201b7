// What leaves the server, and when: every call that Transactions make is a line of a log.
#include "scheduler/core/transactions.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/scheduler/core/plain_tokens.h"
#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

using Log = std::vector<std::string>;

struct Shell {
  Log log;
  bool is_full = false;  // the disk
  Saved rows;
  std::set<std::string> files;
  std::vector<Change> saved;
  std::size_t keys_saved = 0;
  std::vector<Assignment> sent;
  Now now{Time{5000}, WallTime{1'700'000'000'000}};
  Transactions transactions;

  explicit Shell(const Saved& start = {}, const Limits& limits = {})
      : rows(start),
        transactions(
            limits,
            {.load = [this] { return Result<Saved>(rows); },
             .save = [this](auto changes, auto keys) { return save(changes, keys); },
             .has_file = [this](const JobId&,
                                const std::string& sha) { return files.contains(sha); },
             .send =
                 [this](const Assignment& one) {
                   log.push_back("send " + one.agent.text);
                   sent.push_back(one);
                 },
             .refuse = [this](const Refusal& one) { log.push_back("refuse " + one.instance); },
             .announce = [this](auto) { log.emplace_back("announce"); }}) {
    come_back();
  }

  void come_back() { REQUIRE(transactions.restore(plain_tokens(), now.steady)); }

  Status save(Transactions::Changes changes, std::span<const IdempotencyKey> keys) {
    log.emplace_back(is_full ? "save fails" : "save");
    if (is_full) return unavailable("the disk is full");
    saved.insert(saved.end(), changes.begin(), changes.end());
    keys_saved += keys.size();
    return ok();
  }

  // What one transaction does, of the steps and requests that `fill` makes.
  template <class Fill>
  Log transaction(Fill fill) {
    log.clear();
    fill();
    CHECK(log.empty());
    transactions.commit(now);
    return std::exchange(log, {});
  }

  Outcome step(const Event& event) { return transactions.step(event, now).outcome; }

  void ask() {
    transactions.when_saved([this](const Status& done) {
      log.emplace_back(done ? "answer" : "answer that it failed");
    });
  }

  [[nodiscard]] std::vector<Checkpoint> checkpoints() const {
    std::vector<Checkpoint> found;
    for (const Change& change : saved) {
      if (const auto* row = std::get_if<SaveCheckpoint>(&change)) found.push_back(row->checkpoint);
    }
    return found;
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

Submit new_job(const std::string& id = "j", std::uint64_t sequence = 1) {
  Job job;
  job.id = JobId{id};
  job.sequence = sequence;
  job.spec = a_spec();
  return {job};
}

ManifestEvent manifest() {
  return {10, {"m10", 1, "m10"}, {{"s10", 1, "s10"}}, {{"loss", 1.0}}, false};
}

}  // namespace

TEST_CASE("first all is saved, then sent, refused, answered and told", "[transactions]") {
  Shell shell;
  const Log log = shell.transaction([&] {
    CHECK(shell.step(report(1)));
    CHECK(shell.step(new_job()));
    CHECK(shell.step(report(1, "other")));  // a stranger
    shell.ask();
  });
  CHECK(log == Log{"save", "send a", "refuse other", "answer", "announce"});
  CHECK(shell.transactions.steps() == 3);
}

TEST_CASE("nothing of a transaction leaves that could not be saved, then or later",
          "[transactions][mend-C]") {
  Shell shell;
  shell.transaction([&] { CHECK(shell.step(report(1))); });
  shell.sent.clear();
  shell.is_full = true;
  const Log failed = shell.transaction([&] {
    CHECK(shell.step(new_job()));
    CHECK(shell.step(report(1, "other")));  // a stranger
    shell.transactions.add_key({"key", "hash", JobId{"j"}});
    shell.ask();
  });
  CHECK(failed == Log{"save fails", "answer that it failed"});
  CHECK(shell.transactions.core() == nullptr);
  CHECK_FALSE(shell.transactions.find_key("key"));

  const Log without_core = shell.transaction([&] {
    CHECK(shell.step(report(2)).error().code == Code::unavailable);
    shell.ask();
  });
  CHECK(without_core == Log{"answer"});  // with the step's outcome; there is nothing to save

  shell.is_full = false;
  shell.come_back();
  CHECK(shell.transaction([&] { shell.ask(); }) == Log{"answer"});
  shell.transaction([&] { CHECK(shell.step(report(3))); });
  REQUIRE(shell.sent.size() == 1);
  CHECK(shell.sent.front().tasks.empty());
}

TEST_CASE("without the fence what was not saved is sent", "[transactions]") {
  Limits limits;
  limits.fences.saved_first = Fence::removed;
  Shell shell({}, limits);
  shell.is_full = true;
  CHECK(shell.transaction([&] { CHECK(shell.step(report(1))); }) == Log{"save fails", "send a"});
}

TEST_CASE("of several assignments of an agent only the newest is sent", "[transactions]") {
  Shell shell;
  const Log log = shell.transaction([&] {
    CHECK(shell.step(report(1)));
    CHECK(shell.step(report(2)));
    CHECK(shell.step(new_job()));
  });
  CHECK(log == Log{"save", "send a", "announce"});
  CHECK(shell.sent.front().answers == 2);
  CHECK(shell.sent.front().tasks.size() == 3);
}

TEST_CASE("a step tells its own changes, all of them are saved together", "[transactions]") {
  Shell shell;
  const auto first = shell.transactions.step(report(1), shell.now).changes.size();
  const auto second = shell.transactions.step(new_job(), shell.now).changes.size();
  CHECK(first > 0);
  CHECK(second > 0);
  shell.transactions.commit(shell.now);
  CHECK(shell.saved.size() == first + second);
}

TEST_CASE("a request's key is found before it is saved, and saved once", "[transactions]") {
  Shell shell;
  shell.transactions.add_key({"key", "hash", JobId{"j"}});
  REQUIRE(shell.transactions.find_key("key"));
  CHECK(shell.transactions.find_key("key")->job == JobId{"j"});
  CHECK_FALSE(shell.transactions.find_key("another"));
  CHECK(shell.transaction([] {}) == Log{"save"});
  CHECK(shell.keys_saved == 1);
  CHECK_FALSE(shell.transactions.find_key("key"));
  CHECK(shell.transaction([] {}).empty());
}

TEST_CASE("files that came before their manifest count when it is saved", "[transactions]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  const Saved before = yard.rows();
  yard.tell("a", "worker/0", manifest());

  Shell shell(before);
  shell.files = {"s10", "m10"};
  const Log log = shell.transaction([&] { CHECK(shell.step(yard.report_of("a"))); });
  CHECK(log == Log{"save", "send a", "announce", "save", "announce"});
  REQUIRE(shell.checkpoints().size() == 2);
  CHECK(shell.checkpoints().front().state == CheckpointState::pending);
  CHECK(shell.checkpoints().back().state == CheckpointState::committed);
}

TEST_CASE("files of pending checkpoints are looked for at a start", "[transactions]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  yard.tell("a", "worker/0", manifest());

  Shell shell(yard.rows());
  shell.files = {"s10", "m10"};
  shell.come_back();
  shell.transaction([] {});
  REQUIRE(shell.checkpoints().size() == 1);
  CHECK(shell.checkpoints().front().state == CheckpointState::committed);

  Shell lacks_one(yard.rows());
  lacks_one.files = {"s10"};
  lacks_one.come_back();
  lacks_one.transaction([] {});
  CHECK(lacks_one.checkpoints().empty());
}

TEST_CASE("a transaction is full when many wait for it", "[transactions]") {
  Shell shell;
  for (int i = 0; i < 511; ++i) shell.ask();
  CHECK_FALSE(shell.transactions.is_full());
  shell.ask();
  CHECK(shell.transactions.is_full());
  shell.transactions.commit(shell.now);
  CHECK_FALSE(shell.transactions.is_full());
}

TEST_CASE("a transaction is full when much changes in it", "[transactions]") {
  Shell shell;
  std::size_t changes = 0;
  for (std::uint64_t job = 1; changes < 4096; ++job) {
    REQUIRE_FALSE(shell.transactions.is_full());
    const Submit submit = new_job("j" + std::to_string(job), job);
    changes += shell.transactions.step(submit, shell.now).changes.size();
  }
  CHECK(shell.transactions.is_full());
}

}  // namespace trainyard::scheduler
