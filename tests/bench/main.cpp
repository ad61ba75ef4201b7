// trainyard-bench NAME [--json]: figures of one benchmark, beside the limits of this machine in the
// same run.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/net/pin_malloc.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"
#include "tests/bench/all_reduce_process.h"
#include "tests/bench/bench.h"
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
  std::fputs("usage: trainyard-bench NAME [--json], NAME one of:", stderr);
  for (const auto& [name, function] : benches) std::fprintf(stderr, " %s", name.data());
  std::fputs("\n", stderr);
  return 2;
}

}  // namespace

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
  if (argc < 2) return usage();

  trainyard::runtime::pin_malloc();
  if (argc == 4 && std::string_view(argv[1]) == "--ps") {
    return run_ps_process(std::atoll(argv[2]), argv[3]);
  }
  if (argc == 6 && std::string_view(argv[1]) == "--all-reduce") {
    return run_all_reduce_process(argv[2], std::atoll(argv[3]), std::atoll(argv[4]), argv[5]);
  }
  const bool json = argc == 3 && std::string_view(argv[2]) == "--json";
  if (argc > 3 || (argc == 3 && !json)) return usage();
  for (const auto& [name, function] : benches) {
    if (name != argv[1]) continue;
    for (const BenchResult& result : function()) json ? print_json(result) : print_words(result);
    return 0;
  }
  return usage();
}
