#include "runtime/model/split_metrics.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "runtime/core/fnv_hash.h"
#include "runtime/core/portable_math.h"
#include "runtime/model/feed.h"
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

// A user or an item: all ids that its tower reads.
std::vector<std::uint64_t> keys_of_ids(const std::vector<IdField>& fields, const Batch& batch) {
  const Feed feed = feed_of(batch, nullptr, 0);
  std::vector<std::uint64_t> keys;
  std::string bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.examples); ++i) {
    bytes.clear();
    for (const IdField& field : fields) {
      const auto columns = static_cast<std::size_t>(field.columns);
      const auto ids = std::as_bytes(ids_of(feed, field).subspan(i * columns, columns));
      bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size());
    }
    keys.push_back(fnv_hash(bytes));
  }
  return keys;
}

// The same where ids do not tell.
std::vector<std::uint64_t> keys_of_vectors(ConstTensor vectors) {
  std::vector<std::uint64_t> keys;
  const auto columns = static_cast<std::size_t>(vectors.shape.columns());
  const std::span<const float> all = vectors.span();
  for (std::size_t begin = 0; begin < all.size(); begin += columns) {
    const auto bytes = std::as_bytes(all.subspan(begin, columns));
    keys.push_back(fnv_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return keys;
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
    const auto& [users, items] = metrics_[metric].tower_ids;
    const auto keys = [&batch](const std::vector<IdField>& ids, ConstTensor vectors) {
      return ids.empty() ? keys_of_vectors(vectors) : keys_of_ids(ids, batch);
    };
    const std::vector<std::uint64_t> user_keys = keys(users, both[0]);
    const std::vector<std::uint64_t> item_keys = keys(items, both[1]);
    towers.add({both[0], both[1], user_keys, item_keys});
  }
}

bool SplitMetrics::reads_training() const {
  return std::ranges::any_of(towers_, [this](const auto& each) {
    const auto& [users, items] = metrics_[each.first].tower_ids;
    return !users.empty() && !items.empty() && !each.second.empty();
  });
}

void SplitMetrics::add_training(const Batch& batch) {
  for (auto& [metric, towers] : towers_) {
    const auto& [users, items] = metrics_[metric].tower_ids;
    if (users.empty() || items.empty()) continue;
    const std::vector<std::uint64_t> user_keys = keys_of_ids(users, batch);
    const std::vector<std::uint64_t> item_keys = keys_of_ids(items, batch);
    for (std::size_t i = 0; i < user_keys.size(); ++i) {
      towers.add_trained(user_keys[i], item_keys[i]);
    }
  }
}

void SplitMetrics::put(const std::string& prefix, const TowerVectors::IsStopped& is_stopped,
                       std::map<std::string, double>& values) const {
  for (const auto& [metric, counts] : counts_) {
    if (counts.has_both()) values[prefix + metrics_[metric].name] = counts.area();
  }
  for (const auto& [metric, towers] : towers_) {
    if (towers.empty()) continue;
    const auto share = towers.recall(metrics_[metric].k, is_stopped);
    if (share) values[prefix + metrics_[metric].name] = *share;
  }
}

}  // namespace trainyard::runtime
