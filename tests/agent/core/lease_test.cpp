#include "agent/core/lease.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {

TEST_CASE("a lease runs from when the answered report was sent, not from when its answer came",
          "[agent]") {
  Lease lease(Time{0});
  lease.sent(1, Time{1000});
  lease.answered(1, Millis{5000});  // whenever
  CHECK_FALSE(lease.has_expired(Time{5999}));
  CHECK(lease.has_expired(Time{6000}));
}

TEST_CASE("that nobody listens says nothing of a lease of another server, until one has answered",
          "[agent]") {
  Lease found(Time{0}, Millis{5000}, Lease::Giver::unknown);
  found.refused(Time{4000});
  CHECK(found.has_expired(Time{5000}));
  found.sent(1, Time{4500});
  found.answered(1, Millis{5000});
  found.refused(Time{6000});
  CHECK_FALSE(found.has_expired(Time{10'999}));
}

TEST_CASE("a report that was not answered renews nothing", "[agent]") {
  Lease lease(Time{0});
  lease.sent(1, Time{0});
  lease.answered(1, Millis{5000});
  for (int number = 2; number < 10; ++number) lease.sent(number, Time{number * 500});
  CHECK(lease.has_expired(Time{5000}));
}

TEST_CASE("an answer to an older report does not shorten the lease", "[agent]") {
  Lease lease(Time{0});
  lease.sent(1, Time{0});
  lease.sent(2, Time{3000});
  lease.answered(2, Millis{5000});
  lease.answered(1, Millis{5000});
  CHECK_FALSE(lease.has_expired(Time{7999}));
}

TEST_CASE("an answer that comes after the lease would have ended renews nothing", "[agent]") {
  Lease lease(Time{0});
  lease.sent(1, Time{0});
  lease.answered(1, Millis{5000});
  lease.sent(2, Time{1000});
  lease.sent(3, Time{9000});
  lease.answered(2, Millis{5000});
  CHECK(lease.has_expired(Time{9000}));
}

TEST_CASE("an answer to an older report renews from when that one was sent", "[agent][mend-C]") {
  Lease lease(Time{0});
  lease.sent(1, Time{1000});
  lease.sent(2, Time{4000});
  lease.answered(1, Millis{5000});
  CHECK_FALSE(lease.has_expired(Time{5999}));
  CHECK(lease.has_expired(Time{6000}));
}

TEST_CASE("a report as old as the lease is too old to renew it, for however long it is answered",
          "[agent]") {
  Lease lease(Time{0});
  lease.sent(1, Time{0});
  lease.answered(1, Millis{5000});
  lease.sent(2, Time{1000});
  lease.sent(3, Time{6000});
  lease.answered(2, Millis{10'000});
  CHECK(lease.has_expired(Time{10'000}));
}

TEST_CASE("a refused connection renews the lease", "[agent]") {
  Lease lease(Time{0});
  for (int hour = 0; hour < 24; ++hour) {
    const Time now{hour * 3'600'000};
    lease.refused(now);
    CHECK_FALSE(lease.has_expired(now + Millis{59'999}));
    CHECK(lease.has_expired(now + Millis{60'000}));
  }
}

}  // namespace trainyard::agent
