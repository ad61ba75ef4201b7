// What a worker asks for next, answer by answer. Gangs of many workers and ps that die at any
// moment are tests/runtime/net's (protocol_sim_test).
#include "runtime/core/step_protocol.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Ask = StepProtocol::Ask;
using Seen = StepProtocol::Seen;
using enum Ask::What;

StepProtocol protocol_of(Mode mode, std::int64_t max_steps = 100) {
  return StepProtocol({.mode = mode, .max_steps = max_steps});
}

// All ps are at this version, and have all that this worker pushed.
Seen everywhere(std::int64_t version) {
  return {.version = version,
          .oldest = version,
          .newest = version,
          .rank_step = version,
          .rank_step_max = version};
}

Seen torn(std::int64_t oldest, std::int64_t newest, std::int64_t rank_step) {
  return {.version = oldest,
          .oldest = oldest,
          .newest = newest,
          .rank_step = rank_step,
          .rank_step_max = newest};
}

Seen asked_to_inherit(std::int64_t step, std::vector<std::int64_t> ranks) {
  Seen seen = everywhere(step - 1);
  seen.inheritance = {.step = step, .ranks = std::move(ranks)};
  return seen;
}

// A sync worker that waits for step 5 and is asked to make what rank 1 would have pushed.
StepProtocol an_heir() {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(everywhere(4));
  protocol.take(asked_to_inherit(5, {1}));
  return protocol;
}

Seen async_at(std::int64_t version, std::int64_t rank_step, bool turn) {
  Seen seen = everywhere(version);
  seen.rank_step = seen.rank_step_max = rank_step;
  seen.turn = turn;
  return seen;
}

}  // namespace

TEST_CASE("a sync worker pulls, and pushes step by step until the last", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync, 3);
  CHECK(protocol.begins());
  CHECK(protocol.next() == Ask{.what = pull});
  protocol.take(everywhere(1));
  CHECK_FALSE(protocol.begins());
  CHECK(protocol.next() == Ask{.what = push, .step = 2});
  protocol.take(everywhere(2));
  CHECK(protocol.next() == Ask{.what = push, .step = 3});
  protocol.take(everywhere(3));
  CHECK(protocol.next() == Ask{});
}

TEST_CASE("who begins while ps are at two versions looks again, and then makes its own push anew",
          "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(torn(4, 5, 4));
  CHECK(protocol.begins());
  CHECK(protocol.next() == Ask{.what = pull});
  protocol.take(torn(4, 5, 4));
  CHECK(protocol.begins());
  CHECK(protocol.next() == Ask{.what = pull_exactly, .version = 4});
  protocol.take(everywhere(4));
  CHECK(protocol.next() == Ask{.what = push, .step = 5});
}

TEST_CASE("who has pushed to all ps waits for the one that is behind", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(torn(4, 5, 5));
  protocol.take(torn(4, 5, 5));
  CHECK(protocol.next() == Ask{.what = pull, .version = 5});
  SECTION("and goes on when it is there") { protocol.take(everywhere(5)); }
  SECTION("though an heir has made the next step meanwhile, which only some ps have") {
    protocol.take(torn(5, 6, 5));
  }
  CHECK(protocol.next() == Ask{.what = push, .step = 6});
}

TEST_CASE("ps that are at one version at the second look need nothing else", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(torn(4, 5, 4));
  protocol.take(everywhere(5));
  CHECK(protocol.next() == Ask{.what = push, .step = 6});
}

TEST_CASE("after a connection was cut a sync worker looks where the ps are as at its start",
          "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(everywhere(4));
  Seen cut = torn(5, 6, 5);
  cut.was_cut = true;
  protocol.take(cut);
  CHECK(protocol.next() == Ask{.what = pull});
  protocol.take(everywhere(6));
  CHECK(protocol.next() == Ask{.what = push, .step = 7});
  protocol.take(torn(7, 8, 7));  // nothing was cut: ps are at two versions now and then
  CHECK(protocol.next() == Ask{.what = push, .step = 8});
}

TEST_CASE("a version that is past when it is asked for makes the worker look again",
          "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(torn(4, 5, 4));
  protocol.take(torn(4, 5, 4));
  REQUIRE(protocol.next() == Ask{.what = pull_exactly, .version = 4});
  protocol.take(torn(5, 6, 5));  // an heir was faster
  CHECK(protocol.next() == Ask{.what = pull});
}

TEST_CASE("an async worker pushes when it has a turn, whatever version the others made",
          "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::async);
  protocol.take(async_at(30, 7, true));
  CHECK(protocol.next() == Ask{.what = push, .step = 8});
  protocol.take(async_at(32, 8, false));
  CHECK(protocol.next() == Ask{.what = pull_turn});
  protocol.take(async_at(33, 8, true));
  CHECK(protocol.next() == Ask{.what = push, .step = 9});
}

TEST_CASE("an async worker does not care that ps are at several versions", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::async);
  Seen seen = async_at(30, 7, true);
  seen.oldest = 28;
  protocol.take(seen);
  CHECK(protocol.next() == Ask{.what = push, .step = 8});
}

TEST_CASE("an async worker waits for the last version of all ps", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::async);
  protocol.take(async_at(99, 7, true));
  protocol.take(async_at(100, 8, false));
  CHECK(protocol.next() == Ask{.what = pull, .version = 100});
  protocol.take(async_at(100, 8, false));
  CHECK(protocol.next() == Ask{});
}

TEST_CASE("a push of an earlier process that only some ps have is made up for without a turn, once",
          "[step_protocol]") {
  for (const std::int64_t version : {30, 100}) {  // in the middle, and after the last step
    StepProtocol protocol = protocol_of(Mode::async);
    Seen some = async_at(version, 7, false);
    some.rank_step_max = 8;
    protocol.take(some);
    CHECK(protocol.next() == Ask{.what = push, .step = 8});
    protocol.take(async_at(version, 8, false));
    CHECK(protocol.next() ==
          (version == 100 ? Ask{.what = pull, .version = 100} : Ask{.what = pull_turn}));
  }
}

TEST_CASE("of a push that is not an earlier process's nothing is made up for", "[step_protocol]") {
  StepProtocol begins = protocol_of(Mode::async);
  begins.take(async_at(30, 7, false));
  CHECK(begins.next() == Ask{.what = pull_turn});
  Seen some = async_at(31, 7, false);
  some.rank_step_max = 8;
  begins.take(some);
  CHECK(begins.next() == Ask{.what = pull_turn});
}

TEST_CASE("a snapshot's name is carried by one push, and the chief's own wish after it",
          "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  Seen named = everywhere(4);
  named.asked_snapshot = 4;
  protocol.take(named);
  protocol.ask_snapshot(5);
  CHECK(protocol.next() == Ask{.what = push, .step = 5, .snapshot_step = 4});
  named = everywhere(5);
  named.asked_snapshot = 4;
  protocol.take(named);
  CHECK(protocol.next() == Ask{.what = push, .step = 6});  // each name once
  protocol.ask_snapshot(6);
  CHECK(protocol.next() == Ask{.what = push, .step = 6, .snapshot_step = 6});
  protocol.take(everywhere(6));
  CHECK(protocol.next() == Ask{.what = push, .step = 7});
}

TEST_CASE("an heir pulls what the absent would have begun with, computes, and waits for the step",
          "[step_protocol]") {
  StepProtocol protocol = an_heir();
  CHECK(protocol.stands_in());
  CHECK(protocol.inheritance().ranks == std::vector<std::int64_t>{1});
  CHECK(protocol.next() == Ask{.what = pull, .version = 4});
  protocol.take(everywhere(4));
  CHECK(protocol.next() == Ask{.what = inherit, .step = 5});
  protocol.inherited();
  CHECK(protocol.next() == Ask{.what = pull, .version = 5});
  protocol.take(everywhere(5));
  CHECK_FALSE(protocol.stands_in());
  CHECK(protocol.next() == Ask{.what = push, .step = 6});
}

TEST_CASE("an heir goes back where one ps has made the step and another has not",
          "[step_protocol]") {
  StepProtocol protocol = an_heir();
  protocol.take(torn(4, 5, 5));
  CHECK(protocol.next() == Ask{.what = pull_exactly, .version = 4});
  SECTION("and computes") {
    protocol.take(everywhere(4));
    CHECK(protocol.next() == Ask{.what = inherit, .step = 5});
  }
  SECTION("and looks again where that is past") {
    protocol.take(torn(4, 5, 5));
    CHECK(protocol.next() == Ask{.what = pull, .version = 4});
  }
}

TEST_CASE("an heir has nothing to do where the step is made everywhere", "[step_protocol]") {
  StepProtocol protocol = an_heir();
  protocol.take(everywhere(5));
  CHECK_FALSE(protocol.stands_in());
  CHECK(protocol.next() == Ask{.what = push, .step = 6});
}

TEST_CASE("who is asked for nothing just waits for the step", "[step_protocol]") {
  StepProtocol protocol = protocol_of(Mode::sync);
  protocol.take(everywhere(4));
  protocol.take(asked_to_inherit(5, {}));
  CHECK(protocol.stands_in());
  CHECK(protocol.next() == Ask{.what = pull, .version = 5});
}

TEST_CASE("an heir that is asked for more begins with that", "[step_protocol]") {
  StepProtocol protocol = an_heir();
  protocol.take(everywhere(4));
  protocol.inherited();
  protocol.take(asked_to_inherit(5, {2}));
  CHECK(protocol.inheritance().ranks == std::vector<std::int64_t>{2});
  CHECK(protocol.next() == Ask{.what = pull, .version = 4});
}

}  // namespace trainyard::runtime
