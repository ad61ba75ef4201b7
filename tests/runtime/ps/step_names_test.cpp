#include "runtime/ps/step_names.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

// Two of three ranks make a step; version 4 is made.
StepNames some_names() { return StepNames({.ranks = 3, .aggregate = 2}, 4); }

// What is named by it; nothing: step 0.
NamedStep named_by(StepNames& names, const StepNames::Report& report) {
  const auto named = names.report(report);
  REQUIRE(named.has_value());
  return named->value_or(NamedStep{});
}

}  // namespace

TEST_CASE("a step is of the first ranks that report it, and named once", "[names]") {
  StepNames names = some_names();
  CHECK(names.newest() == NamedStep{.step = 4, .ranks = {}});

  CHECK(named_by(names, {.rank = 2, .step = 5}) == NamedStep{});
  CHECK(named_by(names, {.rank = 2, .step = 5}) == NamedStep{});
  const NamedStep wanted{.step = 5, .ranks = {0, 2}};
  CHECK(named_by(names, {.rank = 0, .step = 5}) == wanted);
  CHECK(named_by(names, {.rank = 1, .step = 5}) == NamedStep{});
  CHECK(names.newest() == wanted);
  CHECK(wanted.has(2));
  CHECK_FALSE(wanted.has(1));
}

TEST_CASE("who was left out of a step takes part in the next", "[names]") {
  StepNames names = some_names();
  named_by(names, {.rank = 0, .step = 5});
  named_by(names, {.rank = 1, .step = 5});
  named_by(names, {.rank = 2, .step = 6});
  CHECK(named_by(names, {.rank = 1, .step = 6}) == NamedStep{.step = 6, .ranks = {1, 2}});
}

TEST_CASE("reports of steps that are named are counted, each once", "[names]") {
  StepNames names = some_names();
  named_by(names, {.rank = 0, .step = 5});
  named_by(names, {.rank = 1, .step = 5});
  for (int i = 0; i < 2; ++i) {
    named_by(names, {.rank = 2, .step = 5});  // late
    named_by(names, {.rank = 0, .step = 5});  // is in it
    named_by(names, {.rank = 0, .step = 4});  // of before
  }
  CHECK(names.late() == std::vector<std::int64_t>{0, 0, 1});
}

TEST_CASE("the next step that is named is the snapshot, though who asked for it was late",
          "[names]") {
  StepNames names = some_names();
  named_by(names, {.rank = 1, .step = 5});
  CHECK(named_by(names, {.rank = 2, .step = 5}).snapshot == 0);
  named_by(names, {.rank = 0, .step = 5, .snapshot = 6});
  named_by(names, {.rank = 1, .step = 6});
  CHECK(named_by(names, {.rank = 2, .step = 6}).snapshot == 6);
  // By another connection it asks again, and has had it.
  named_by(names, {.rank = 0, .step = 6, .snapshot = 6});
  named_by(names, {.rank = 1, .step = 7});
  CHECK(named_by(names, {.rank = 2, .step = 7}).snapshot == 6);
}

TEST_CASE("after a snapshot that holds no step is named", "[names]") {
  StepNames names = some_names();
  named_by(names, {.rank = 0, .step = 5, .snapshot = 5, .holds = true});
  CHECK(named_by(names, {.rank = 1, .step = 5}) ==
        NamedStep{.step = 5, .ranks = {0, 1}, .snapshot = 5});
  for (const std::int64_t rank : {0, 1, 2}) {
    CHECK(named_by(names, {.rank = rank, .step = 6}) == NamedStep{});
  }
  CHECK(names.newest().step == 5);
}

TEST_CASE("a snapshot that is to hold after all, does", "[names]") {
  StepNames names = some_names();
  named_by(names, {.rank = 0, .step = 5, .snapshot = 5});
  CHECK(named_by(names, {.rank = 1, .step = 5}).snapshot == 5);
  named_by(names, {.rank = 0, .step = 6, .holds = true});
  CHECK(named_by(names, {.rank = 1, .step = 6}) == NamedStep{});
}

TEST_CASE("a report that makes no sense is refused, and changes nothing", "[names]") {
  StepNames names = some_names();
  const StepNames::Report report =
      GENERATE(StepNames::Report{.rank = -1, .step = 5}, StepNames::Report{.rank = 3, .step = 5},
               StepNames::Report{.rank = 0, .step = 0}, StepNames::Report{.rank = 0, .step = 6},
               StepNames::Report{.rank = 0, .step = -1},
               StepNames::Report{.rank = 1, .step = 5, .snapshot = 5},
               StepNames::Report{.rank = 1, .step = 5, .holds = true},
               StepNames::Report{.rank = 0, .step = 5, .snapshot = 6},
               StepNames::Report{.rank = 0, .step = 5, .snapshot = -1});
  CHECK_FALSE(names.report(report).has_value());
  named_by(names, {.rank = 2, .step = 5});
  const NamedStep wanted{.step = 5, .ranks = {1, 2}};
  CHECK(named_by(names, {.rank = 1, .step = 5}) == wanted);
}

}  // namespace trainyard::runtime
