// What happened since the last report: sums over all that was applied, and the time it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model/model.h"
#include "runtime/role/step_times.h"
#include "schemas/types/product_rates.h"

namespace trainyard::runtime {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // What there is to report beside loss and rates.
  struct Kind {
    std::vector<Metric> metrics = {};
    bool staleness = false;  // of async: mean, quantiles and counts of all updates
    // Where there are backup workers, whose contributions may come too late: all by rank.
    std::vector<std::string> trainers = {};
    // Where both are known, how much of what the processor can do the steps of this task reach.
    // Asked of each own step: what the products of an example cost, forward and backward.
    std::function<double()> example_flops = {};
    double peak_flops = 0;  // each second, of the cores that the task computes on
    // Where GPUs compute, in this precision: what products they all make together.
    Precision precision = Precision::float32;
    ProductRates product_rates = {};
  };

  Progress(Kind kind, std::int64_t version) : kind_(std::move(kind)), version_(version) {}

  void add_applied(const ExchangeNews& news);
  // Of updates that others have made before this task came: they belong to the attempt, and to the
  // means of its first report, but to no interval and hence to no rate.
  void add_earlier(const BatchSums& earlier) {
    stale_ += earlier.stale;
    earlier_ = earlier;
  }
  void add_traffic(const Traffic& traffic) { traffic_ += traffic; }
  // Contributions that came too late, by rank, in all; empty: not known now.
  void set_dropped(std::vector<std::int64_t> dropped) {
    if (!dropped.empty()) dropped_ = std::move(dropped);
  }
  // Of a step of this task, with so many examples of its own.
  void add_own_step(const StepTimes& times, std::int64_t examples) {
    times_ += times;
    if (kind_.example_flops) flops_ += kind_.example_flops() * static_cast<double>(examples);
    ++own_steps_;
  }

  // The metrics of the interval that ends at `version`, and starts the next one.
  std::map<std::string, double> take(std::int64_t version);

 private:
  void add_staleness(std::map<std::string, double>& values, std::int64_t updates) const;
  void add_rate(std::map<std::string, double>& values) const;
  void add_speedups(std::map<std::string, double>& values) const;
  void add_dropped(std::map<std::string, double>& values) const;

  Kind kind_;
  StalenessCounts stale_;  // since the attempt began, up to the last report
  BatchSums sums_;
  BatchSums earlier_;                  // until the first report
  std::vector<std::int64_t> dropped_;  // by rank
  Traffic traffic_;                    // of this worker's own steps
  StepTimes times_;
  std::int64_t own_steps_ = 0;  // in times_
  double flops_ = 0;            // of their products
  std::int64_t version_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace trainyard::runtime
