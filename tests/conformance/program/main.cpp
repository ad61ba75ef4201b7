// trainyard-conformance [FAMILY] [--plugin FILE] [--rounds N] [--seed N] [--precision NAME]
// [--network NAME] [--libraries yes|no]: holds the kernels for a grid against the CPU's, byte by
// byte: on the GPU that the plugin shows, or, without one, run by a loop on this processor. A line
// for each family; exit status 1 if a byte differs, 2 without the GPU or the family that was asked
// for, and where the device fails. FAMILY may be "speed" (of products), "models" (whole ones, or
// NAME alone, trained, by one replica and by several), or "families", whose names are printed. In
// the precisions tf32 and bfloat16 ops are held against their definitions, models against those in
// float32, and all against themselves; what multiplies there are the libraries of the host, or no
// library.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/open_device.h"
#include "runtime/math/cpu.h"
#include "schemas/types/precision_names.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/program/models.h"
#include "tests/conformance/program/networks.h"
#include "tests/conformance/program/replicated.h"
#include "tests/conformance/program/resident.h"
#include "tests/conformance/program/rounded.h"
#include "tests/conformance/program/speed.h"
#include "tests/conformance/program/wire.h"
#include "tests/conformance/reference/rounding.h"
#include "tests/conformance/run_case.h"

namespace {

using namespace trainyard::runtime;
using trainyard::Precision;

// Those that a GPU's libraries may compute beside the others.
std::vector<Family> all_families() {
  std::vector<Family> all = families();
  all.push_back({"large", large_cases});
  return all;
}

bool is_family(const std::string& name) {
  return std::ranges::any_of(all_families(), [&](const Family& each) { return each.name == name; });
}

bool is_network(const std::string& name) {
  return std::ranges::any_of(networks(), [&](const Trained& each) { return each.name == name; });
}

int print_families() {
  for (const Family& family : families()) std::printf("%s\n", family.name.c_str());
  return 0;
}

struct Options {
  std::string only;  // "": all families
  int rounds = 40;
  std::uint64_t seed = 1;
  std::string plugin;
  Precision precision = Precision::float32;
  std::string network;  // of the models; "": all
  bool with_libraries = true;
};

bool read_precision(std::string_view text, Precision& to) {
  const auto found = trainyard::find_value(trainyard::precision_names, text);
  to = found.value_or(to);
  return found.has_value();
}

bool read_yes_or_no(std::string_view text, bool& to) {
  to = text == "yes";
  return to || text == "no";
}

// How many cases differ, or are too far from their definitions.
int compare_ops(Device& device, const Options& options) {
  std::printf("device: %s, by %s\n%-16s %6s %9s\n", device.name(), device.toolkit(), "family",
              "cases", "different");
  int different = 0;
  for (const Family& family : all_families()) {
    // A loop takes minutes for it; in float32 no library multiplies.
    const bool is_asked_for = family.name == options.only || !options.plugin.empty();
    if (family.name == "large" && (!is_asked_for || options.precision == Precision::float32)) {
      continue;
    }
    if (!options.only.empty() && family.name != options.only) continue;
    Random random(options.seed);
    const double limit = reference::rounding_limit(options.precision, family.name);
    int cases = 0;
    int wrong = 0;
    for (const Case& each : family.cases(random, options.rounds)) {
      ++cases;
      const std::string what = options.precision == Precision::float32 ? difference(each, device)
                               : family.name == "large" ? distance_of_large(each, device, limit)
                                                        : distance(each, device, limit);
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

template <class Number>
bool read_number(std::string_view text, Number least, Number most, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc{} && end == text.data() + text.size() && to >= least && to <= most;
}

bool is_known(const std::string& name) {
  return name == "families" || name == "speed" || name == "models" || is_family(name);
}

// Nothing: an argument is none of ours; it is said which.
std::optional<Options> read_options(std::span<char*> arguments) {
  constexpr int rounds_max = 1'000'000;
  Options options;
  const auto refuse = [](std::string_view argument) {
    std::fprintf(
        stderr,
        "trainyard-conformance: \"%s\" is not understood\n"
        "usage: trainyard-conformance [FAMILY|families|large|speed|models] [--plugin FILE] "
        "[--rounds 1 to %d] [--seed N] [--precision float32|tf32|bfloat16] [--network NAME] "
        "[--libraries yes|no]\n",
        std::string(argument).c_str(), rounds_max);
    return std::nullopt;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument.starts_with("--")) {
      if (i + 1 == arguments.size()) return refuse(argument);
      const std::string value = arguments[++i];
      const bool is_read =
          (argument == "--plugin" && !(options.plugin = value).empty()) ||
          (argument == "--precision" && read_precision(value, options.precision)) ||
          (argument == "--libraries" && read_yes_or_no(value, options.with_libraries)) ||
          (argument == "--network" && is_network(value) && !(options.network = value).empty()) ||
          (argument == "--rounds" && read_number(value, 1, rounds_max, options.rounds)) ||
          (argument == "--seed" && read_number<std::uint64_t>(value, 0, UINT64_MAX, options.seed));
      if (!is_read) return refuse(argument + " " + value);
    } else if (!options.only.empty() || !is_known(argument)) {
      return refuse(argument);
    } else {
      options.only = argument;
    }
  }
  return options;
}

// Null: there is none, which is said.
std::unique_ptr<Device> open_device(const Options& options, Precision precision) {
  if (options.plugin.empty()) {
    return std::make_unique<HostDevice>(
        HostDeviceSetting{.precision = precision, .has_libraries = options.with_libraries});
  }
  auto opened =
      open_gpu(options.plugin, {.precision = precision, .with_libraries = options.with_libraries});
  if (opened) return *std::move(opened);
  std::fprintf(stderr, "%s\n", opened.error().message.c_str());
  return nullptr;
}

int compare_all_models(Device& device, const Options& options) {
  const auto new_device = [&options] { return open_device(options, options.precision); };
  std::vector<Trained> wanted = networks();
  if (!options.network.empty()) {
    std::erase_if(wanted, [&](const Trained& each) { return each.name != options.network; });
  }
  const int of_several = compare_replicas(wanted, new_device, std::min(options.rounds, 3));
  if (options.precision != Precision::float32) {
    const auto exact = open_device(options, Precision::float32);
    if (exact == nullptr) return 2;
    return std::max(
        of_several,
        compare_rounded_models(wanted, {.float32 = *exact, .rounded = device}, options.rounds));
  }
  const int of_one = compare_models(wanted, device, std::min(options.rounds, 20));
  const int of_residents = compare_residents(wanted, device, std::min(options.rounds, 3));
  return std::max({of_one, of_several, of_residents, compare_wires(wanted, device)});
}

int run(const Options& options) {
  if (options.only == "families") return print_families();
  if (options.only == "large" && options.precision == Precision::float32) {
    std::fprintf(stderr, "\"large\" is for libraries, which multiply in tf32 and bfloat16\n");
    return 2;
  }
  const std::unique_ptr<Device> device = open_device(options, options.precision);
  if (device == nullptr) return 2;
  if (options.only == "speed") return print_speeds(*device, options.precision);
  if (options.only == "models") return compare_all_models(*device, options);
  return compare_ops(*device, options) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> all(argv, static_cast<std::size_t>(argc));
  const auto options = read_options(all.subspan(std::min<std::size_t>(1, all.size())));
  if (!options) return 2;
  flush_denormals();
  try {
    return run(*options);
  } catch (const DeviceFailed& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
  }
}
