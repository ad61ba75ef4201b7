// How often an agent that is refused again and again says so.
#include "agent/link/refusal_log.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {

TEST_CASE("a refusal is said once, once a minute while it goes on, and anew after an answer",
          "[agent]") {
  using std::chrono::seconds;
  const RefusalLog::Time start{seconds(1000)};
  RefusalLog log;

  CHECK(log.take("taken", start));
  for (int second = 2; second < 60; second += 2) {
    CHECK_FALSE(log.take("taken", start + seconds(second)));
  }
  CHECK(log.take("taken", start + seconds(60)));
  CHECK_FALSE(log.take("taken", start + seconds(119)));
  CHECK(log.take("full", start + seconds(119)));
  log.forget();
  CHECK(log.take("full", start + seconds(120)));
}

}  // namespace trainyard::agent
