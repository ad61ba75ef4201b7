#include "runtime/core/staleness.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace trainyard::runtime {

StalenessCounts::StalenessCounts(const Updates& updates, std::int64_t largest)
    : updates_(updates), largest_(std::max<std::int64_t>(largest, 0)) {
  for (std::int64_t& count : updates_) count = std::max<std::int64_t>(count, 0);
}

void StalenessCounts::add(std::int64_t staleness) {
  const auto range = std::ranges::find_if(staleness_ranges, [staleness](const auto& each) {
    return staleness <= each.last || each.last < 0;
  });
  ++updates_[static_cast<std::size_t>(range - staleness_ranges.begin())];
  largest_ = std::max(largest_, staleness);
}

StalenessCounts& StalenessCounts::operator+=(const StalenessCounts& more) {
  for (std::size_t i = 0; i < updates_.size(); ++i) updates_[i] += more.updates_[i];
  largest_ = std::max(largest_, more.largest_);
  return *this;
}

std::int64_t StalenessCounts::total() const {
  return std::accumulate(updates_.begin(), updates_.end(), std::int64_t{0});
}

std::int64_t StalenessCounts::quantile(double share) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(total())));
  std::int64_t counted = 0;
  for (std::size_t i = 0; i + 1 < updates_.size(); ++i) {
    counted += updates_[i];
    if (counted >= wanted) return std::min(staleness_ranges[i].last, largest_);
  }
  return largest_;
}

double staleness_factor(StalenessScaling scaling, std::int64_t staleness) {
  if (scaling == StalenessScaling::none) return 1;
  return 1 / (1 + static_cast<double>(staleness));
}

}  // namespace trainyard::runtime
