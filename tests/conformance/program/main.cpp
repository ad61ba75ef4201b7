// trainyard-conformance [FAMILY] [--plugin FILE] [--rounds N] [--seed N]: holds the kernels for a
// grid against the CPU's, byte by byte: on the GPU that the plugin shows, or, without one, run by a
// loop on this processor. A line for each family; exit status 1 if a byte differs, 2 without the
// GPU or the family that was asked for. FAMILY may be "speed" (of products), "models" (whole ones,
// trained), or "families", whose names are printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/device/open_device.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/program/models.h"
#include "tests/conformance/program/speed.h"
#include "tests/conformance/run_case.h"

namespace {

using namespace trainyard::runtime;

bool is_family(const std::string& name) {
  return std::ranges::any_of(families(), [&](const Family& each) { return each.name == name; });
}

int print_families() {
  for (const Family& family : families()) std::printf("%s\n", family.name.c_str());
  return 0;
}

// `only`: one family; "": all.
int run(Device& device, const std::string& only, int rounds, std::uint64_t seed) {
  std::printf("device: %s\n%-16s %6s %9s\n", device.name(), "family", "cases", "different");
  int different = 0;
  for (const Family& family : families()) {
    if (!only.empty() && family.name != only) continue;
    Random random(seed);
    int cases = 0;
    int wrong = 0;
    for (const Case& each : family.cases(random, rounds)) {
      ++cases;
      const std::string what = difference(each, device);
      if (what.empty()) continue;
      ++wrong;
      if (wrong <= 20) {
        std::printf("  %s, case %d: %s\n", each.name.c_str(), cases - 1, what.c_str());
      }
    }
    std::printf("%-16s %6d %9d\n", family.name.c_str(), cases, wrong);
    different += wrong;
  }
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  int rounds = 40;
  std::uint64_t seed = 1;
  std::string plugin;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--plugin") == 0 && i + 1 < argc) {
      plugin = argv[++i];
    } else {
      only = argv[i];
    }
  }
  if (only == "families") return print_families();
  if (!only.empty() && only != "speed" && only != "models" && !is_family(only)) {
    std::fprintf(stderr, "there is no family \"%s\"\n", only.c_str());
    return 2;
  }
  std::unique_ptr<Device> device = std::make_unique<HostDevice>();
  if (!plugin.empty()) {
    auto opened = open_gpu(plugin, 0, 1);
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().message.c_str());
      return 2;
    }
    device = std::move(*opened);
  }
  if (only == "speed") return print_speeds(*device);
  if (only == "models") return compare_models(*device, std::min(rounds, 20));
  return run(*device, only, rounds, seed) == 0 ? 0 : 1;
}
