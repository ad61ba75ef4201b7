#include "runtime/model/tower_vectors.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/matmul.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

void TowerVectors::add(const TowerExamples& examples) {
  features_ = examples.users.shape.columns();
  const auto features = static_cast<std::size_t>(features_);
  const auto most = static_cast<std::size_t>(std::min(examples_max, floats_max / features_));
  const std::size_t count =
      std::min(examples.user_keys.size(), std::max(most, item_of_.size()) - item_of_.size());
  ENSURE(examples.users.shape == examples.items.shape);
  users_.insert(users_.end(), examples.users.data, examples.users.data + count * features);
  for (std::size_t i = 0; i < count; ++i) {
    const auto user = user_numbers_.try_emplace(examples.user_keys[i], std::ssize(trained_)).first;
    trained_.resize(user_numbers_.size());
    const auto [item, is_new] =
        item_numbers_.try_emplace(examples.item_keys[i], std::ssize(items_) / features_);
    const float* const vector = examples.items.data + i * features;
    if (is_new) items_.insert(items_.end(), vector, vector + features);
    user_of_.push_back(user->second);
    item_of_.push_back(item->second);
  }
}

void TowerVectors::add_trained(std::uint64_t user_key, std::uint64_t item_key) {
  const auto user = user_numbers_.find(user_key);
  const auto item = item_numbers_.find(item_key);
  if (user == user_numbers_.end() || item == item_numbers_.end()) return;
  trained_[static_cast<std::size_t>(user->second)].insert(item->second);
}

std::int64_t TowerVectors::count_before(std::size_t example, std::span<const float> scores) const {
  const auto own = static_cast<std::size_t>(item_of_[example]);
  const float score = scores[own];
  const auto is_before = [&](std::size_t item) {
    return scores[item] > score || (scores[item] == score && item < own);
  };
  std::int64_t before = 0;
  for (std::size_t item = 0; item < scores.size(); ++item) before += is_before(item) ? 1 : 0;
  for (const std::int32_t item : trained_[static_cast<std::size_t>(user_of_[example])]) {
    before -= is_before(static_cast<std::size_t>(item)) ? 1 : 0;
  }
  return before;
}

// Some users at a time, so that the scores stay small.
std::optional<double> TowerVectors::recall(std::int64_t k, const IsStopped& is_stopped) const {
  constexpr std::int64_t floats_at_once = std::int64_t{1} << 22;
  const std::int64_t item_count = std::ssize(items_) / features_;
  const std::int64_t examples = std::ssize(item_of_);
  const std::int64_t at_once = std::max<std::int64_t>(1, floats_at_once / item_count);
  AlignedBuffer scores(static_cast<std::size_t>(std::min(at_once, examples) * item_count));
  std::int64_t right = 0;
  for (std::int64_t begin = 0; begin < examples; begin += at_once) {
    if (is_stopped()) return std::nullopt;
    const std::int64_t count = std::min(at_once, examples - begin);
    matmul_transposed({users_.data() + begin * features_, {count, features_}},
                      {items_.data(), {item_count, features_}}, {},
                      {scores.data(), {count, item_count}});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto example = static_cast<std::size_t>(begin + i);
      const std::span<const float> of_example(scores.data() + i * item_count,
                                              static_cast<std::size_t>(item_count));
      const float own = of_example[static_cast<std::size_t>(item_of_[example])];
      if (own == own && count_before(example, of_example) < k) ++right;
    }
  }
  return static_cast<double>(right) / static_cast<double>(examples);
}

}  // namespace trainyard::runtime
