// Means and rates of an interval.
#include "runtime/role/progress.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "schemas/types/precision_names.h"

namespace trainyard::runtime {

void Progress::add_applied(const ExchangeNews& news) {
  sums_ += news.sums;
  traffic_ += news.traffic;
}

std::map<std::string, double> Progress::take(std::int64_t version) {
  const Clock::time_point now = Clock::now();
  const double elapsed = std::max(std::chrono::duration<double>(now - since_).count(), 1e-9);
  BatchSums reported = std::exchange(earlier_, {});
  reported += sums_;
  std::map<std::string, double> values =
      means_of(kind_.metrics, {.loss_sum = reported.loss_sum,
                               .metrics = reported.metrics,
                               .examples = reported.examples,
                               .denominator = reported.denominator});
  values["examples_per_second"] = static_cast<double>(sums_.examples) / elapsed;
  values["steps_per_second"] = static_cast<double>(version - version_) / elapsed;
  stale_ += sums_.stale;
  if (kind_.staleness) add_staleness(values, version - version_);

  if (own_steps_ > 0 && traffic_.sent > 0) {
    const auto steps = static_cast<double>(own_steps_);
    values["wire_bytes_sent_per_step"] = static_cast<double>(traffic_.sent) / steps;
    values["wire_bytes_received_per_step"] = static_cast<double>(traffic_.received) / steps;
    if (traffic_.pooled > 0) {
      values["pooled_lookups_per_step"] = static_cast<double>(traffic_.pooled) / steps;
    }
  }
  if (own_steps_ > 0) {
    const auto mean = [this](Seconds sum) { return sum.count() / static_cast<double>(own_steps_); };
    values["input_seconds"] = mean(times_.input);
    values["compute_seconds"] = mean(times_.compute);
    values["push_seconds"] = mean(times_.push);
    values["wait_seconds"] = mean(times_.wait);
    values["pull_seconds"] = mean(times_.pull);
    add_rate(values);
    add_speedups(values);
  }

  if (!kind_.trainers.empty()) add_dropped(values);

  const StalenessCounts stale = stale_;
  std::vector<std::int64_t> dropped = std::move(dropped_);
  *this = Progress(kind_, version);
  dropped_ = std::move(dropped);
  stale_ = stale;
  return values;
}

// Of the interval the mean and quantiles; of the attempt so far how many updates were how stale.
void Progress::add_staleness(std::map<std::string, double>& values, std::int64_t updates) const {
  values["staleness"] = static_cast<double>(sums_.staleness) /
                        static_cast<double>(std::max<std::int64_t>(updates, 1));
  values["staleness_p50"] = static_cast<double>(sums_.stale.quantile(0.5));
  values["staleness_p99"] = static_cast<double>(sums_.stale.quantile(0.99));
  values["staleness_max"] = static_cast<double>(sums_.stale.largest());
  for (std::size_t i = 0; i < staleness_ranges.size(); ++i) {
    const std::int64_t count = stale_.updates()[i];
    if (count == 0) continue;
    const std::string name(staleness_ranges[i].name);
    values[std::string(staleness_metric_prefix) + name] = static_cast<double>(count);
  }
}

// Of the time that the gradients took; what else a step waits for is in other metrics.
void Progress::add_rate(std::map<std::string, double>& values) const {
  const double seconds = times_.compute.count();
  if (flops_ <= 0 || seconds <= 0) return;
  values["compute_gflops"] = flops_ / seconds * 1e-9;
  if (kind_.peak_flops > 0) values["compute_peak_fraction"] = flops_ / seconds / kind_.peak_flops;
}

// How many times faster gradients would be in other precisions: their products at the rate of each,
// all else as it is now. What products take now is not measured; it is at least what they would
// take at the measured rate, which large ones reach.
void Progress::add_speedups(std::map<std::string, double>& values) const {
  const double seconds = times_.compute.count();
  const auto now = kind_.product_rates.find(kind_.precision);
  if (now == kind_.product_rates.end() || flops_ <= 0 || seconds <= 0) return;
  const double of_products = std::min(seconds, flops_ / (now->second * 1e12));
  for (const auto& [precision, tflops] : kind_.product_rates) {
    if (precision == kind_.precision) continue;
    const double there = seconds - of_products + of_products * now->second / tflops;
    values["speedup_in_" + std::string(find_name(precision_names, precision))] = seconds / there;
  }
}

// In all, and of each task that has any.
void Progress::add_dropped(std::map<std::string, double>& values) const {
  std::int64_t all = 0;
  const std::size_t ranks = std::min(dropped_.size(), kind_.trainers.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (dropped_[rank] == 0) continue;
    all += dropped_[rank];
    std::string task = kind_.trainers[rank];
    std::ranges::replace(task, '/', '_');
    values["dropped_contributions_" + task] = static_cast<double>(dropped_[rank]);
  }
  values["dropped_contributions"] = static_cast<double>(all);
}

}  // namespace trainyard::runtime
