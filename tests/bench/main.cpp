// trainyard-bench NAME [--json]: figures of one benchmark, beside the limits of this machine in the
// same run; of those with many cases, --case TEXT measures the ones with TEXT in their names.
// trainyard-bench compute --device cpu|gpu [--case TEXT | --product ROWSxINxOUT] [--json]: products
// of matrices and whole networks there, or one product; exit status 2: there is no such device.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/math/cpu.h"
#include "runtime/net/pin_malloc.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"
#include "tests/bench/all_reduce_process.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_device.h"
#include "tests/bench/copy_bench.h"
#include "tests/bench/network_bench.h"
#include "tests/bench/product_bench.h"
#include "tests/bench/ps_process.h"

namespace trainyard::bench {
namespace {

constexpr std::array<std::pair<std::string_view, BenchFunction>, 18> benches{
    {{"gemm", bench_gemm},
     {"conv", bench_conv},
     {"compute", bench_compute},
     {"ps_pushpull", bench_ps_pushpull},
     {"all_reduce", bench_all_reduce},
     {"train_mlp", bench_train_mlp},
     {"train_big_mlp", bench_train_big_mlp},
     {"train_cnn", bench_train_cnn},
     {"train_cifar_cnn", bench_train_cifar_cnn},
     {"train_lstm", bench_train_lstm},
     {"train_crnn", bench_train_crnn},
     {"train_gpt", bench_train_gpt},
     {"embedding", bench_embedding},
     {"placement", bench_placement},
     {"submit", bench_submit},
     {"schedule", bench_schedule},
     {"jobs_completed", bench_jobs_completed},
     {"two_hosts", bench_two_hosts}}};

// Whose cases can be asked for one by one.
constexpr std::array<std::string_view, 4> with_cases{"compute", "conv", "embedding", "two_hosts"};
std::string_view asked_for;  // of the names of cases; "": all

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_json(const BenchResult& result) {
  std::printf(
      "{\"bench\":\"%s\",\"case\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"n\":%d,\"min\":%.6g,"
      "\"max\":%.6g,\"limit\":%.6g,\"limit_of\":\"%s\",\"cpu_s_per_unit\":%.6g}\n",
      json_escape(result.bench).c_str(), json_escape(result.case_name).c_str(), result.value,
      json_escape(result.unit).c_str(), result.n, result.min, result.max, result.limit,
      json_escape(result.limit_of).c_str(), result.cpu_s_per_unit);
}

void print_words(const BenchResult& result) {
  std::printf("%-44s %10.4g %-12s %9.4g..%-9.4g", result.case_name.c_str(), result.value,
              result.unit.c_str(), result.min, result.max);
  if (result.cpu_s_per_unit > 0) std::printf("  cpu %.3g s", result.cpu_s_per_unit);
  if (result.limit > 0) {
    std::printf("  %.2f of %s", result.value / result.limit, result.limit_of.c_str());
  }
  std::printf("\n");
}

int usage() {
  std::fputs(
      "usage: trainyard-bench compute --device cpu|gpu [--case TEXT] [--json]\n"
      "       trainyard-bench compute --device cpu|gpu --product ROWSxINxOUT, up to 16384 "
      "[--json]\n"
      "       trainyard-bench compute|conv|embedding|two_hosts [--case TEXT] [--json]\n"
      "       trainyard-bench NAME [--json], NAME one of:",
      stderr);
  for (const auto& [name, function] : benches) std::fprintf(stderr, " %s", name.data());
  std::fputs("\n", stderr);
  return 2;
}

enum class Form { words, json };

// As they come: some benches take many minutes.
class Printer {
 public:
  explicit Printer(Form form) : form_(form) {}

  void print(const std::vector<BenchResult>& results) {
    for (const BenchResult& result : results) {
      form_ == Form::json ? print_json(result) : print_words(result);
    }
    std::fflush(stdout);
    has_printed_ |= !results.empty();
  }

  // The exit status.
  [[nodiscard]] int finish(std::string_view bench) const {
    const bool measured_none = !has_printed_ && !asked_for.empty();
    if (!measured_none) return 0;
    std::fprintf(stderr, "no case of %s with that in its name was measured\n", bench.data());
    return 2;
  }

 private:
  Form form_;
  bool has_printed_ = false;
};

int refuse(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

// `options`: what follows "compute".
int run_on_device(std::span<char*> options) {
  Form form = Form::words;
  std::optional<DeviceKind> device;
  std::optional<runtime::ProductShape> only;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string_view option = options[i];
    if (option == "--json") {
      form = Form::json;
      continue;
    }
    if (i + 1 == options.size()) return usage();
    const std::string_view value = options[++i];
    if (option == "--device" && (device = device_kind_of(value))) continue;
    if (option == "--product" && (only = product_shape_of(value))) continue;
    if (option == "--case" && !(asked_for = value).empty()) continue;
    return usage();
  }
  if (!device || (only && !asked_for.empty())) return usage();
  Printer printer(form);
  if (!only) {
    const auto copies = bench_copies(*device);
    if (!copies) return refuse(copies.error());
    printer.print(*copies);
  }
  const auto products = bench_products(*device, only);
  if (!products) return refuse(products.error());
  printer.print(*products);
  if (only) return 0;
  const auto report = [&](const std::vector<BenchResult>& results) { printer.print(results); };
  const Status networks = bench_networks(*device, report);
  return networks ? printer.finish("compute") : refuse(networks.error());
}

bool is_about_device(std::span<char*> options) {
  return std::ranges::any_of(options, [](std::string_view option) {
    return option == "--device" || option == "--product";
  });
}

// `arguments`: all of the program's.
int run_bench(std::span<char*> arguments) {
  if (arguments.size() < 2) return usage();
  const std::string_view which = arguments[1];
  const std::span<char*> options = arguments.subspan(2);
  if (which == "compute" && is_about_device(options)) return run_on_device(options);
  const bool has_cases = std::ranges::find(with_cases, which) != with_cases.end();
  Form form = Form::words;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string_view option = options[i];
    if (option == "--json") {
      form = Form::json;
    } else if (option == "--case" && has_cases && i + 1 < options.size()) {
      asked_for = options[++i];
    } else {
      return usage();
    }
  }
  for (const auto& [name, function] : benches) {
    if (name != which) continue;
    Printer printer(form);
    printer.print(function());
    return printer.finish(which);
  }
  return usage();
}

}  // namespace

bool is_asked_for(std::string_view name) { return name.find(asked_for) != name.npos; }

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds_self() { return cpu_seconds(RUSAGE_SELF); }
double cpu_seconds_children() { return cpu_seconds(RUSAGE_CHILDREN); }

// By its clock: /proc counts in ticks of 10 ms, more than a run may take.
double cpu_seconds_of(pid_t process) {
  clockid_t clock = 0;
  timespec time{};
  ENSURE(::clock_getcpuclockid(process, &clock) == 0 && ::clock_gettime(clock, &time) == 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

BenchResult summary_of(const Samples& samples) {
  BenchResult result;
  std::vector<double> values = samples.values;
  if (values.empty()) return result;
  std::ranges::sort(values);
  result.value = values[values.size() / 2];
  result.n = static_cast<int>(values.size());
  result.min = values.front();
  result.max = values.back();
  if (samples.units > 0) result.cpu_s_per_unit = samples.cpu_seconds / samples.units;
  return result;
}

}  // namespace trainyard::bench

int main(int argc, char** argv) {
  using namespace trainyard::bench;  // NOLINT: main only wires
  trainyard::runtime::pin_malloc();
  trainyard::runtime::flush_denormals();
  if (argc == 4 && std::string_view(argv[1]) == "--ps") {
    return run_ps_process(std::atoll(argv[2]), argv[3]);
  }
  if (argc == 6 && std::string_view(argv[1]) == "--all-reduce") {
    return run_all_reduce_process(argv[2], std::atoll(argv[3]), std::atoll(argv[4]), argv[5]);
  }
  return run_bench({argv, static_cast<std::size_t>(argc)});
}
