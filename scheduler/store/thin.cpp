#include "scheduler/store/thin.h"

#include <algorithm>
#include <cmath>

namespace trainyard::scheduler {
namespace {

// A total order, so that a loss that became NaN is a maximum and stays in sight.
bool lower(const MetricPoint& a, const MetricPoint& b) {
  if (std::isnan(a.value)) return false;
  return std::isnan(b.value) || a.value < b.value;
}

}  // namespace

Thinner::Thinner(std::int64_t points_max)
    : buckets_max_(static_cast<std::size_t>(std::max<std::int64_t>(points_max, 6) - 2) / 2),
      points_max_(static_cast<std::size_t>(std::max<std::int64_t>(points_max, 6))) {}

Thinner::Bucket Thinner::join(const Bucket& a, const Bucket& b) {
  return {.lowest = lower(b.lowest, a.lowest) ? b.lowest : a.lowest,
          .highest = lower(a.highest, b.highest) ? b.highest : a.highest};
}

void Thinner::halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buckets_.size(); i += 2, ++kept) {
    buckets_[kept] = i + 1 < buckets_.size() ? join(buckets_[i], buckets_[i + 1]) : buckets_[i];
  }
  if (buckets_.size() % 2 == 0) in_last_ += width_;
  buckets_.resize(kept);
  width_ *= 2;
}

void Thinner::add(const MetricPoint& point) {
  if (!first_) first_ = point;
  last_ = point;
  if (!buckets_.empty() && in_last_ < width_) {
    buckets_.back() = join(buckets_.back(), {point, point});
    ++in_last_;
    return;
  }
  buckets_.push_back({point, point});
  in_last_ = 1;
  while (buckets_.size() > (width_ == 1 ? points_max_ : buckets_max_)) halve();
}

std::vector<MetricPoint> Thinner::take() const {
  std::vector<MetricPoint> points;
  const auto put = [&points](const MetricPoint& point) {
    if (points.empty() || points.back().step < point.step) points.push_back(point);
  };
  if (first_) put(*first_);
  for (const Bucket& bucket : buckets_) {
    const bool lowest_first = bucket.lowest.step <= bucket.highest.step;
    put(lowest_first ? bucket.lowest : bucket.highest);
    put(lowest_first ? bucket.highest : bucket.lowest);
  }
  if (last_) put(*last_);
  return points;
}

}  // namespace trainyard::scheduler
