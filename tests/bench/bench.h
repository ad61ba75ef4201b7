// What a benchmark gives back: one line for each case, with its own limit measured in the same run.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::bench {

struct BenchResult {
  std::string bench;
  std::string case_name;
  double value = 0;  // median
  std::string unit;
  int n = 0;  // runs, interleaved with those of the other cases
  double min = 0;
  double max = 0;
  double limit = 0;      // 0 = none
  std::string limit_of;  // what the limit is: "raw TCP socket"
  double cpu_s_per_unit = 0;
};

using BenchFunction = std::vector<BenchResult> (*)();

std::vector<BenchResult> bench_gemm();
std::vector<BenchResult> bench_conv();
std::vector<BenchResult> bench_compute();
std::vector<BenchResult> bench_ps_pushpull();
std::vector<BenchResult> bench_train_mlp();
std::vector<BenchResult> bench_train_big_mlp();
std::vector<BenchResult> bench_train_cnn();
std::vector<BenchResult> bench_train_cifar_cnn();
std::vector<BenchResult> bench_train_lstm();
std::vector<BenchResult> bench_train_crnn();
std::vector<BenchResult> bench_train_gpt();
std::vector<BenchResult> bench_all_reduce();
std::vector<BenchResult> bench_embedding();
std::vector<BenchResult> bench_placement();
std::vector<BenchResult> bench_submit();
std::vector<BenchResult> bench_schedule();
std::vector<BenchResult> bench_jobs_completed();
std::vector<BenchResult> bench_two_hosts();

// Whether its cases are wanted whose names have this in them: by --case TEXT, of the benches that
// take many minutes.
bool is_asked_for(std::string_view name);

// The values of a case, run by run, and the CPU seconds that went with them.
struct Samples {
  std::vector<double> values;
  double cpu_seconds = 0;
  double units = 0;  // of work, in the unit that cpu_s_per_unit is by

  void add(double value) { values.push_back(value); }
};

// Median, spread and CPU time of `samples`; bench, case_name and unit are the caller's.
BenchResult summary_of(const Samples& samples);

double seconds_now();       // steady
double cpu_seconds_self();  // user and system, of this process
double cpu_seconds_children();
double cpu_seconds_of(pid_t process);  // of a running child, so far

}  // namespace trainyard::bench
