// trainyard-conformance [FAMILY] [--plugin FILE] [--rounds N] [--seed N]: holds the kernels for a
// grid against the CPU's, byte by byte: on the GPU that the plugin shows, or, without one, run by a
// loop on this processor. A line for each family; exit status 1 if a byte differs, 2 without the
// GPU or the family that was asked for. FAMILY may be "speed" (of products), "models" (whole ones,
// trained, by one replica and by several), or "families", whose names are printed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/device/open_device.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/program/models.h"
#include "tests/conformance/program/replicated.h"
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
  const auto new_device = [&plugin]() -> std::unique_ptr<Device> {
    if (plugin.empty()) return std::make_unique<HostDevice>();
    auto opened = open_gpu(plugin, 0, 1);
    if (opened) return *std::move(opened);
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return nullptr;
  };
  const std::unique_ptr<Device> device = new_device();
  if (device == nullptr) return 2;
  if (only == "speed") return print_speeds(*device);
  if (only == "models") {
    const int of_one = compare_models(*device, std::min(rounds, 20));
    const int of_several = compare_replicas(new_device, std::min(rounds, 3));
    return std::max(of_one, of_several);
  }
  return run(*device, only, rounds, seed) == 0 ? 0 : 1;
}
