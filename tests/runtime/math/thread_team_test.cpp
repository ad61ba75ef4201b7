// Parts of a team's work are done once each, by whoever, and all of them before run() returns.
#include "runtime/math/thread_team.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr TeamSetting eager_team(std::int64_t threads) {
  return {.threads = threads, .least_nanoseconds = 0};
}

// On a thread that is not the calling one.
void believe_what_is_false() {
  ThreadTeam team(eager_team(2));
  std::atomic<bool> has_other_begun = false;
  team.run(2, [&](std::int64_t, std::int64_t member) {
    if (member != 0) {
      has_other_begun = true;
      ENSURE(member == 0);
    }
    has_other_begun.wait(false);
  });
}

}  // namespace

TEST_CASE("a false belief on a thread of a team ends the process with its message", "[threads]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    believe_what_is_false();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string message;
  std::array<char, 256> some{};
  for (ssize_t count = 0; (count = ::read(ends[0], some.data(), some.size())) > 0;) {
    message.append(some.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
  CHECK(message.find("ENSURE failed: member == 0") != std::string::npos);
}

TEST_CASE("every part of a team's work is done once, and before the call returns", "[threads]") {
  for (const std::int64_t threads : {1, 2, 3, 7}) {
    ThreadTeam team(eager_team(threads));
    for (int round = 0; round < 2000; ++round) {
      const std::int64_t parts = round % 11;
      std::vector<int> done(static_cast<std::size_t>(parts));  // each written by one thread
      std::vector<std::int64_t> members(done.size(), -1);
      team.run(parts, [&](std::int64_t part, std::int64_t member) {
        ++done[static_cast<std::size_t>(part)];
        members[static_cast<std::size_t>(part)] = member;
      });
      REQUIRE(done == std::vector<int>(done.size(), 1));
      for (const std::int64_t member : members) REQUIRE((member >= 0 && member < threads));
    }
  }
}

TEST_CASE("what a part of a team's work throws comes out of the call, when all is done",
          "[threads]") {
  ThreadTeam team(eager_team(3));
  for (int round = 0; round < 100; ++round) {
    std::vector<int> done(8);
    std::string message;
    try {
      team.run(8, [&](std::int64_t part, std::int64_t) {
        done[static_cast<std::size_t>(part)] = 1;
        if (part == 5) throw std::runtime_error("of part 5");
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    REQUIRE(message == "of part 5");
    REQUIRE(done == std::vector<int>(8, 1));
  }
  int after = 0;
  team.run(1, [&](std::int64_t, std::int64_t) { ++after; });
  CHECK(after == 1);
}

TEST_CASE("work is divided at its units, and not at all where it is little", "[threads]") {
  ThreadTeam team({.threads = 4, .least_nanoseconds = 100});
  const Threads threads(team);
  const auto parts_of = [&](const Items& items) {
    std::vector<std::int64_t> starts(static_cast<std::size_t>(items.count) + 1, 0);
    threads.split(items, [&](const Part& part) {
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        starts[static_cast<std::size_t>(i)] = part.begin + 1;
      }
    });
    starts.pop_back();
    REQUIRE(std::ranges::find(starts, 0) == starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    return starts;
  };

  CHECK(parts_of({.count = 100, .nanoseconds_each = 1}) == std::vector<std::int64_t>{1});
  CHECK(parts_of({.count = 100, .nanoseconds_each = 3}) == std::vector<std::int64_t>{1, 34, 67});
  CHECK(parts_of({.count = 100, .nanoseconds_each = 100}).size() == 16);
  CHECK(parts_of({.count = 20, .nanoseconds_each = 100, .unit = 8}) ==
        std::vector<std::int64_t>{1, 9, 17});
  CHECK(parts_of({.count = 0, .nanoseconds_each = 100}).empty());
  CHECK(Threads().parts_of(1e9) == 1);
  CHECK(Threads().count() == 1);
}

}  // namespace trainyard::runtime
