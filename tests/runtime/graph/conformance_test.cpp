// The kernels of a GPU, run by a loop in place of its threads, against the CPU's.
#include <catch2/catch.hpp>

#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/run_case.h"

using namespace trainyard::runtime;

TEST_CASE("kernels for a grid have the bytes of the CPU's", "[conformance]") {
  const auto late = GENERATE(false, true);
  const auto family = GENERATE(from_range(families()));
  DYNAMIC_SECTION(family.name << (late ? ", late" : "")) {
    Random random(17);
    HostDevice device({.is_late = late});
    for (const Case& each : family.cases(random, 6)) {
      INFO(each.name);
      const std::string what = difference(each, device);
      if (!what.empty()) UNSCOPED_INFO(what);
      CHECK(what == "");
    }
  }
}
