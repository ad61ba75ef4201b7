// Means and rates of an interval.
#include "runtime/role/progress.h"

#include <algorithm>

namespace trainyard::runtime {

void Progress::add(const Pulled& pulled) {
  sums_ += pulled.sums;
  if (pulled.traffic.sent == 0) return;
  traffic_.sent += pulled.traffic.sent;
  traffic_.received += pulled.traffic.received;
  ++pushes_;
}

std::map<std::string, double> Progress::take(std::int64_t version) {
  const Clock::time_point now = Clock::now();
  const double elapsed = std::max(std::chrono::duration<double>(now - since_).count(), 1e-9);
  const auto examples = static_cast<double>(std::max<std::int64_t>(sums_.examples, 1));

  std::map<std::string, double> values;
  if (sums_.examples > 0) {
    values["loss"] = sums_.loss_sum / examples;
    if (kind_.accuracy) {
      values["accuracy"] = static_cast<double>(sums_.correct) / examples;
    }
  }
  values["examples_per_second"] = static_cast<double>(sums_.examples) / elapsed;
  values["steps_per_second"] = static_cast<double>(version - version_) / elapsed;
  if (kind_.staleness) {
    const auto updates = static_cast<double>(std::max<std::int64_t>(version - version_, 1));
    values["staleness"] = static_cast<double>(sums_.staleness) / updates;
  }

  if (pushes_ > 0) {
    const auto pushes = static_cast<double>(pushes_);
    values["wire_bytes_sent_per_step"] = static_cast<double>(traffic_.sent) / pushes;
    values["wire_bytes_received_per_step"] = static_cast<double>(traffic_.received) / pushes;
  }
  if (own_steps_ > 0) {
    const auto mean = [this](Seconds sum) { return sum.count() / static_cast<double>(own_steps_); };
    values["input_seconds"] = mean(times_.input);
    values["compute_seconds"] = mean(times_.compute);
    values["push_seconds"] = mean(times_.push);
    values["wait_seconds"] = mean(times_.wait);
    values["pull_seconds"] = mean(times_.pull);
    values["apply_seconds"] = mean(times_.apply);
  }

  const std::int64_t dropped = dropped_before_ + sums_.dropped;
  if (kind_.dropped) values["dropped_contributions"] = static_cast<double>(dropped);

  *this = Progress(kind_, version);
  dropped_before_ = dropped;
  return values;
}

}  // namespace trainyard::runtime
