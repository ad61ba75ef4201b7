// Metrics that are of a whole split, and no means over its examples: the area under the ROC curve,
// and how often the right item is among the k best of all. What is kept of a batch adds up, so
// batches may come in any sizes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/model/model.h"

namespace trainyard::runtime {

// Counts of examples by label and by score, in 65,536 equal ranges of sigmoid(score). Two examples
// of one range count as equal: the area is off by half the share of such pairs at most.
class ScoreCounts {
 public:
  void add(std::span<const float> scores, std::span<const std::int32_t> labels);
  ScoreCounts& operator+=(const ScoreCounts& more);
  [[nodiscard]] bool has_both() const;  // labels
  // The probability that an example of label 1 has a larger score than one of label 0, where equal
  // ones count half. Of both labels.
  [[nodiscard]] double area() const;
  bool operator==(const ScoreCounts&) const = default;

 private:
  static constexpr std::size_t ranges = 65'536;
  std::vector<std::int64_t> of_label_0_ = std::vector<std::int64_t>(ranges);
  std::vector<std::int64_t> of_label_1_ = std::vector<std::int64_t>(ranges);
};

// Vectors of users and items, as two towers give them. Items are told apart by their vectors.
class TowerVectors {
 public:
  // More examples than this are not kept: each is compared with each item.
  static constexpr std::int64_t examples_max = 65'536;
  static constexpr std::int64_t floats_max = std::int64_t{1} << 25;  // of users, and of items

  void add(ConstTensor users, ConstTensor items);
  [[nodiscard]] bool empty() const { return users_.empty(); }
  // The share of examples whose own item is among the k of the largest products with the example's
  // user, of all items that any example has.
  [[nodiscard]] double recall(std::int64_t k) const;

 private:
  std::int64_t features_ = 0;
  std::vector<float> users_;
  std::vector<float> items_;
};

class SplitMetrics {
 public:
  explicit SplitMetrics(const Model& model);

  // Of the batch that the model has evaluated last.
  void add(const Model& model, const Batch& batch);
  // Under `prefix` and their names.
  void put(const std::string& prefix, std::map<std::string, double>& values) const;

 private:
  std::vector<Metric> metrics_;
  std::map<std::size_t, ScoreCounts> counts_;  // by metric
  std::map<std::size_t, TowerVectors> towers_;
};

}  // namespace trainyard::runtime
