// A curve of any length brought down to a number of points, in one pass and bounded memory, so that
// no spike is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/store/reader.h"

namespace trainyard::scheduler {

// Takes points in ascending steps. Neighbours share a bucket of which the lowest and the highest
// point stay; the first and the last point stay too. Buckets double in width whenever there are too
// many, so up to `points_max` points come out as they went in, and of more at least about half of
// `points_max` and never more than that.
class Thinner {
 public:
  explicit Thinner(std::int64_t points_max);  // 6 or more; less counts as 6

  void add(const MetricPoint& point);
  [[nodiscard]] std::vector<MetricPoint> take() const;

 private:
  // Of the points of one bucket; the same point when there is just one.
  struct Bucket {
    MetricPoint lowest;
    MetricPoint highest;
  };
  static Bucket join(const Bucket& a, const Bucket& b);
  void halve();

  std::size_t buckets_max_;  // when full buckets hold two points each
  std::size_t points_max_;   // while buckets hold one point each
  std::size_t width_ = 1;    // points that a full bucket has taken in
  std::size_t in_last_ = 0;  // points that the last bucket has taken in
  std::vector<Bucket> buckets_;
  std::optional<MetricPoint> first_;
  std::optional<MetricPoint> last_;
};

}  // namespace trainyard::scheduler
