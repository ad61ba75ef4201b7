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
#include "runtime/model/tower_vectors.h"

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

class SplitMetrics {
 public:
  explicit SplitMetrics(const Model& model);

  // Of the batch that the model has evaluated last.
  void add(const Model& model, const Batch& batch);
  // Whether examples of training say what is no wrong item for a user; then some of them, behind
  // all others.
  [[nodiscard]] bool reads_training() const;
  void add_training(const Batch& batch);
  // Under `prefix` and their names. Where `is_stopped` says so while they are computed, some are
  // missing.
  void put(const std::string& prefix, const TowerVectors::IsStopped& is_stopped,
           std::map<std::string, double>& values) const;

 private:
  std::vector<Metric> metrics_;
  std::map<std::size_t, ScoreCounts> counts_;  // by metric
  std::map<std::size_t, TowerVectors> towers_;
};

}  // namespace trainyard::runtime
