#include "runtime/math/thread_team.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/waiting.h"

namespace trainyard::runtime {

TEST_CASE("every part of a loop is done once, and all of them when it returns", "[thread_team]") {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    for (const std::size_t parts : {0U, 1U, 2U, 7U, 1000U}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<int> done(parts);  // not atomic: a part that is done twice is a race
        team.run(parts, [&](std::size_t part) { ++done[part]; });
        CHECK(done == std::vector<int>(parts, 1));
      }
    }
  }
}

TEST_CASE("the threads of a team work at the same time", "[thread_team]") {
  ThreadTeam team(3);
  std::mutex mutex;
  std::condition_variable met;
  std::set<std::thread::id> here;
  const Deadline deadline = in_patience();
  std::atomic<int> alone = 0;

  team.run(3, [&](std::size_t) {  // each part waits for two others
    std::unique_lock lock(mutex);
    here.insert(std::this_thread::get_id());
    met.notify_all();
    if (!met.wait_until(lock, deadline, [&] { return here.size() == 3; })) ++alone;
  });
  CHECK(alone == 0);
}

}  // namespace trainyard::runtime
