// Which contributions make a step, as tables.
#include "runtime/core/backup_steps.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Part = BackupSteps::Part;
using Verdict = BackupSteps::Verdict;

BackupSteps steps_of(Part part, std::int64_t ranks, std::int64_t aggregate,
                     std::int64_t version = 0) {
  return {{.part = part, .ranks = ranks, .aggregate = aggregate, .max_steps = 100}, version};
}

void be_ready(BackupSteps& steps, std::int64_t rank, std::int64_t step) {
  REQUIRE(steps.judge(rank, step) == Verdict::hold);
  steps.hold(rank);
  REQUIRE(steps.ready(rank, step));
}

}  // namespace

TEST_CASE("the first so many that are ready make the step, whoever they are", "[backup_steps]") {
  BackupSteps steps = steps_of(Part::alone, 4, 2);
  be_ready(steps, 3, 1);
  CHECK_FALSE(steps.decide());
  steps.hold(2);  // but not everywhere yet
  CHECK_FALSE(steps.decide());
  be_ready(steps, 0, 1);

  const auto made = steps.decide();
  REQUIRE(made);
  CHECK(*made == MadeStep{.version = 1, .ranks = {0, 3}});
  steps.commit(*made);
  CHECK(steps.newest() == *made);
  CHECK(steps.dropped() == std::vector<std::int64_t>{0, 0, 1, 0});
  CHECK_FALSE(steps.decide());
}

TEST_CASE("what a ps says to each step of a rank with backup workers", "[backup_steps]") {
  BackupSteps steps = steps_of(Part::alone, 3, 2, 5);
  CHECK(steps.judge(0, 5) == Verdict::duplicate);
  CHECK(steps.judge(0, 6) == Verdict::hold);
  CHECK(steps.judge(0, 7) == Verdict::out_of_order);
  be_ready(steps, 0, 6);
  CHECK(steps.judge(0, 6) == Verdict::duplicate);
  be_ready(steps, 1, 6);
  steps.commit(*steps.decide());

  CHECK(steps.judge(1, 6) == Verdict::duplicate);  // it was applied
  CHECK(steps.judge(2, 6) == Verdict::late);
  steps.drop(2, 6);
  CHECK(steps.judge(2, 6) == Verdict::duplicate);  // counted once
  CHECK(steps.dropped()[2] == 1);
  CHECK(steps.judge(2, 7) == Verdict::hold);
}

TEST_CASE("no step follows the last", "[backup_steps]") {
  const BackupSteps steps = steps_of(Part::alone, 2, 1, 100);
  CHECK(steps.judge(0, 101) == Verdict::out_of_order);
  CHECK_FALSE(steps.decide());
}

TEST_CASE("a step waits for nobody who is gone, and the first for those who are yet to come",
          "[backup_steps]") {
  BackupSteps steps = steps_of(Part::leads, 3, 2);
  be_ready(steps, 1, 1);
  CHECK_FALSE(steps.decide());
  steps.gone(0);
  CHECK_FALSE(steps.decide());
  steps.gone(2);
  REQUIRE(steps.decide());
  CHECK(steps.decide()->ranks == std::vector<std::int64_t>{1});
  steps.come(0);
  CHECK_FALSE(steps.decide());
  be_ready(steps, 0, 1);
  steps.gone(1);  // what it was ready with still counts
  CHECK(steps.decide()->ranks == std::vector<std::int64_t>{0, 1});

  BackupSteps later = steps_of(Part::leads, 3, 2);
  be_ready(later, 0, 1);
  be_ready(later, 1, 1);
  later.commit(*later.decide());
  be_ready(later, 0, 2);
  later.come(1);
  CHECK_FALSE(later.decide());
  later.gone(1);  // and rank 2 has never come
  CHECK(later.decide()->ranks == std::vector<std::int64_t>{0});
  later.come(2);
  CHECK_FALSE(later.decide());
}

TEST_CASE("a rank that is not known to be held is not ready, and a ps that follows decides nothing",
          "[backup_steps]") {
  BackupSteps leads = steps_of(Part::leads, 2, 1);
  CHECK_FALSE(leads.ready(0, 1));
  CHECK_FALSE(leads.ready(0, 2));
  CHECK(leads.ready(0, 0));  // of a step that is made
  BackupSteps follows = steps_of(Part::follows, 2, 1);
  follows.hold(0);
  CHECK_FALSE(follows.ready(0, 1));
  CHECK_FALSE(follows.decide());
}

TEST_CASE("a ps that follows makes what it is told, and refuses what cannot be", "[backup_steps]") {
  BackupSteps steps = steps_of(Part::follows, 3, 2);
  steps.hold(0);
  steps.hold(1);
  const auto message_of = [&steps](const MadeStep& told) {
    const Status status = steps.check(told);
    return status.has_value() ? std::string() : status.error().message;
  };
  CHECK(message_of({.version = 1, .ranks = {0, 2}}) ==
        "step 1 is made of a gradient of rank 2, which this ps does not hold");
  CHECK(message_of({.version = 1, .ranks = {7}}) ==
        "step 1 is made of a gradient of rank 7, which this ps does not hold");
  CHECK(message_of({.version = 1, .ranks = {1, 0}}) == "step 1 is of ranks that do not ascend");
  CHECK(message_of({.version = 1, .ranks = {1, 1}}) == "step 1 is of ranks that do not ascend");
  CHECK(message_of({.version = 1, .ranks = {}}) == "step 1 is of ranks that do not ascend");
  CHECK(message_of({.version = 2, .ranks = {0}}) == "step 2 cannot follow version 0");
  const MadeStep made{.version = 1, .ranks = {0, 1}};
  REQUIRE(message_of(made).empty());
  steps.commit(made);
  CHECK(std::ranges::count(steps.dropped(), 0) == std::ssize(steps.dropped()));

  CHECK(message_of(made).empty());  // others say it too
  CHECK(message_of({.version = 1, .ranks = {0}}) == "step 1 was made otherwise on this ps");
  CHECK(steps_of(Part::leads, 3, 2).check(made).error().message ==
        "step 1 cannot follow version 0");
}

TEST_CASE("a checkpoint that a late push asked for is of the next version, but not of the last",
          "[backup_steps]") {
  BackupSteps steps = steps_of(Part::alone, 2, 1, 97);
  be_ready(steps, 0, 98);
  steps.commit(*steps.decide());
  CHECK(steps.newest().snapshot == 0);
  steps.ask_snapshot();
  be_ready(steps, 0, 99);
  steps.commit(*steps.decide());
  CHECK(steps.newest().snapshot == 99);
  steps.ask_snapshot();
  be_ready(steps, 1, 100);
  steps.commit(*steps.decide());
  CHECK(steps.newest() == MadeStep{.version = 100, .ranks = {1}, .snapshot = 99});
}

}  // namespace trainyard::runtime
