// What a ps that was started again makes of what its ranks tell, of who tells late, and of who
// never does.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {
namespace {

// It goes on from the first parameters: its shard has none of their pushes.
Aggregator returned_ps(std::int64_t ranks, std::int64_t max_steps,
                       std::optional<std::int64_t> max_staleness = {}) {
  const std::vector<std::int64_t> none(static_cast<std::size_t>(ranks));
  Aggregator::Rules rules{.gate = {.mode = Mode::async, .ranks = ranks, .max_steps = max_steps},
                          .max_staleness = max_staleness,
                          .optimizer = {},
                          .gives_turns = true};
  return Aggregator(std::move(rules), ParameterShard({}, AlignedBuffer(4), {}),
                    {.version = 0, .rank_steps = none, .first_steps = none},
                    [](const Snapshot&) {});
}

struct Asked {
  std::optional<std::int64_t> version;  // of the answer
  Aggregator::Reply reply() {
    return [this](const Result<Answer>& answer) {
      REQUIRE(answer.has_value());
      version = answer->version;
    };
  }
};

}  // namespace

TEST_CASE("a newer version that a rank has seen counts once the rank has told", "[told_clocks]") {
  Aggregator ps = returned_ps(2, 5);
  ps.see(0, 5);
  CHECK(ps.awaits_clocks());
  ps.tell_clock(0, {.step = 2, .version = 3});
  CHECK_FALSE(ps.awaits_clocks());
  CHECK(ps.version() == 5);
  CHECK(ps.lost_updates() == 5);
}

TEST_CASE("a rank that tells late makes a version that others wait for", "[told_clocks]") {
  Aggregator ps = returned_ps(3, 9);
  ps.tell_clock(0, {.step = 1, .version = 2});
  ps.tell_clock(2, {.step = 1, .version = 2});
  ps.lose(1, "gone");
  REQUIRE(ps.version() == 2);
  Asked asked;
  ps.pull({.rank = 0, .at_least = 3}, asked.reply());
  CHECK_FALSE(asked.version);
  ps.tell_clock(1, {.step = 1, .version = 2});
  CHECK(asked.version == 3);
}

TEST_CASE("a rank that tells late is not ahead of others by what it made before", "[told_clocks]") {
  Aggregator ps = returned_ps(2, 99, 1);
  ps.tell_clock(0, {.step = 1, .version = 1, .clock = 1});
  ps.lose(1, "gone");
  ps.tell_clock(1, {.step = 20, .version = 21});
  Asked asked;
  ps.pull({.rank = 1}, asked.reply());
  CHECK(asked.version == 21);
}

TEST_CASE("a rank that was never heard of is not waited for at the end", "[told_clocks]") {
  Aggregator ps = returned_ps(2, 5);
  ps.tell_clock(0, {.step = 2, .version = 5, .pushes = true});  // its push may be made again
  REQUIRE(ps.version() == 4);
  Asked asked;
  ps.pull({.rank = 0, .at_least = 5}, asked.reply());
  CHECK(asked.version == 4);
}

}  // namespace trainyard::runtime
