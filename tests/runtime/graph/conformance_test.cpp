// The kernels of a GPU, run by a loop in place of its threads, against the CPU's.
#include <catch2/catch.hpp>
#include <optional>

#include "runtime/math/cpu.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/run_case.h"
#include "tests/environment.h"

using namespace trainyard::runtime;

namespace {

// While it lives, this thread and those that it starts compute as the runtime's do.
class FlushedDenormals {
 public:
  FlushedDenormals() { flush_denormals(); }
  ~FlushedDenormals() { __builtin_ia32_ldmxcsr(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  const unsigned before_ = __builtin_ia32_stmxcsr();
};

}  // namespace

TEST_CASE("kernels for a grid have the bytes of the CPU's", "[conformance]") {
  const auto late = GENERATE(false, true);
  // Once as the runtime computes, once as all other tests do.
  std::optional<FlushedDenormals> flushed;
  if (!late) flushed.emplace();
  const auto family = GENERATE(from_range(families()));
  DYNAMIC_SECTION(family.name << (late ? ", late" : "")) {
    Random random(17);
    HostDevice device({.is_late = late});
    int number = 0;
    for (const Case& each : family.cases(random, 6)) {
      // Under a sanitizer each once.
      if (trainyard::is_sanitized && (number++ % 2 == 1) != late) continue;
      INFO(each.name);
      const std::string what = difference(each, device);
      if (!what.empty()) UNSCOPED_INFO(what);
      CHECK(what == "");
    }
  }
}

TEST_CASE("what a GPU cannot count is found when room is asked for", "[conformance]") {
  const HostDevice device;
  const WindowAxis all{.pixels = 512};
  const std::vector<Shape> inputs{{8192, 512, 512, 1}, {1, 1, 1, 1}};
  const auto needs = [&](const Op& op, std::int64_t examples) {
    std::vector<Shape> of = inputs;
    of[0] = {examples, 512, 512, 1};
    return device.kernels().needs(op, of, of[0], 1).scratch;
  };
  for (const Op& op : {Op(Conv2dOp{{all, all}}), Op(DepthwiseConv2dOp{{all, all}}),
                       Op(MaxPool2dOp{{all, all}}), Op(AvgPool2dOp{{all, all}})}) {
    CHECK_NOTHROW(needs(op, 8191));
    CHECK_THROWS_WITH(needs(op, 8192),
                      "a GPU counts up to 2147483583 windows, pixels or channels of an op, here "
                      "are 2147483648: smaller micro-batches have fewer");
  }
  const ReduceOp largest{.kind = Reduction::max, .axes = {0}};
  const std::vector<Shape> line{{1, std::int64_t{1} << 31}};
  CHECK_THROWS_AS(device.kernels().needs(largest, line, {1}, 1), DeviceFailed);
}
