#include "runtime/model/split_metrics.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/core/portable_math.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/loss.h"
#include "runtime/math/ops/matmul.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// NaN is in the first range.
std::size_t range_of_score(float score, std::size_t ranges) {
  const double probability = 1 / (1 + portable_exp(-static_cast<double>(score)));
  if (!(probability > 0)) return 0;
  const auto range = static_cast<std::size_t>(probability * static_cast<double>(ranges));
  return std::min(range, ranges - 1);
}

// The distinct rows of a matrix, and which of them each row is.
struct DistinctRows {
  std::vector<float> rows;
  std::vector<std::int32_t> number;  // by row of the matrix
};

DistinctRows distinct_rows(std::span<const float> values, std::size_t columns) {
  const auto row = [&](std::size_t i) { return values.data() + i * columns; };
  const std::size_t bytes = columns * sizeof(float);
  std::vector<std::size_t> order(values.size() / columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::memcmp(row(a), row(b), bytes) < 0; });
  DistinctRows distinct{.rows = {}, .number = std::vector<std::int32_t>(order.size())};
  std::int32_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_new = i == 0 || std::memcmp(row(order[i - 1]), row(order[i]), bytes) != 0;
    if (is_new) {
      distinct.rows.insert(distinct.rows.end(), row(order[i]), row(order[i]) + columns);
      ++count;
    }
    distinct.number[order[i]] = count - 1;
  }
  return distinct;
}

}  // namespace

void ScoreCounts::add(std::span<const float> scores, std::span<const std::int32_t> labels) {
  ENSURE(scores.size() == labels.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    auto& counts = labels[i] == 1 ? of_label_1_ : of_label_0_;
    ++counts[range_of_score(scores[i], ranges)];
  }
}

ScoreCounts& ScoreCounts::operator+=(const ScoreCounts& more) {
  for (std::size_t i = 0; i < ranges; ++i) {
    of_label_0_[i] += more.of_label_0_[i];
    of_label_1_[i] += more.of_label_1_[i];
  }
  return *this;
}

bool ScoreCounts::has_both() const {
  const auto is_some = [](std::int64_t count) { return count > 0; };
  return std::ranges::any_of(of_label_0_, is_some) && std::ranges::any_of(of_label_1_, is_some);
}

double ScoreCounts::area() const {
  double below = 0;  // examples of label 0 in the ranges before
  double ones = 0;
  double right = 0;  // pairs; in double they are exact up to 2^52
  for (std::size_t i = 0; i < ranges; ++i) {
    const auto zeros_here = static_cast<double>(of_label_0_[i]);
    const auto ones_here = static_cast<double>(of_label_1_[i]);
    right += ones_here * (below + zeros_here / 2);
    below += zeros_here;
    ones += ones_here;
  }
  return right / (below * ones);
}

void TowerVectors::add(ConstTensor users, ConstTensor items) {
  features_ = users.shape.columns();
  const std::int64_t kept = std::ssize(users_) / features_;
  const std::int64_t most = std::min(examples_max, floats_max / features_);
  const std::int64_t more = std::min(users.shape.rows(), std::max(most, kept) - kept);
  const auto floats = static_cast<std::size_t>(more * features_);
  users_.insert(users_.end(), users.data, users.data + floats);
  items_.insert(items_.end(), items.data, items.data + floats);
}

// Some users at a time, so that the scores stay small.
double TowerVectors::recall(std::int64_t k) const {
  constexpr std::int64_t floats_at_once = std::int64_t{1} << 22;
  const DistinctRows items = distinct_rows(items_, static_cast<std::size_t>(features_));
  const std::int64_t item_count = std::ssize(items.rows) / features_;
  const std::int64_t examples = std::ssize(users_) / features_;
  const std::int64_t at_once = std::max<std::int64_t>(1, floats_at_once / item_count);
  AlignedBuffer scores(static_cast<std::size_t>(std::min(at_once, examples) * item_count));
  std::vector<float> matches;
  double right = 0;
  for (std::int64_t begin = 0; begin < examples; begin += at_once) {
    const std::int64_t count = std::min(at_once, examples - begin);
    const Tensor block{scores.data(), {count, item_count}};
    matmul_transposed({users_.data() + begin * features_, {count, features_}},
                      {items.rows.data(), {item_count, features_}}, {}, block);
    matches.resize(static_cast<std::size_t>(count));
    match_top_labels(k, block,
                     std::span(items.number)
                         .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                     {matches.data(), {count}});
    for (const float match : matches) right += static_cast<double>(match);
  }
  return right / static_cast<double>(examples);
}

SplitMetrics::SplitMetrics(const Model& model)
    : metrics_(model.metrics().begin(), model.metrics().end()) {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].kind == Metric::Kind::area) counts_[i];
    if (metrics_[i].kind == Metric::Kind::recall) towers_[i];
  }
}

void SplitMetrics::add(const Model& model, const Batch& batch) {
  for (auto& [metric, counts] : counts_) {
    counts.add(model.watched(metric).front().span(), batch.labels);
  }
  for (auto& [metric, towers] : towers_) {
    const std::vector<ConstTensor> both = model.watched(metric);
    ENSURE(both.size() == 2);
    towers.add(both[0], both[1]);
  }
}

void SplitMetrics::put(const std::string& prefix, std::map<std::string, double>& values) const {
  for (const auto& [metric, counts] : counts_) {
    if (counts.has_both()) values[prefix + metrics_[metric].name] = counts.area();
  }
  for (const auto& [metric, towers] : towers_) {
    if (towers.empty()) continue;
    values[prefix + metrics_[metric].name] = towers.recall(metrics_[metric].k);
  }
}

}  // namespace trainyard::runtime
