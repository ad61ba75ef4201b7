// Vectors of users and items, as two towers give them, of a whole split: how often the right item
// is among the k best of all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Examples of a split. Users and items are told apart by keys.
struct TowerExamples {
  ConstTensor users;  // [examples, features]
  ConstTensor items;
  std::span<const std::uint64_t> user_keys;  // [examples]
  std::span<const std::uint64_t> item_keys;
};

class TowerVectors {
 public:
  // More examples than this are not kept: each is compared with each item.
  static constexpr std::int64_t examples_max = 65'536;
  static constexpr std::int64_t floats_max = std::int64_t{1} << 25;  // of users, and of items

  void add(const TowerExamples& examples);
  // The user has the item in training, so it is no wrong one for it. Nothing where no example has
  // the user or the item: all examples come first.
  void add_trained(std::uint64_t user_key, std::uint64_t item_key);
  [[nodiscard]] bool empty() const { return item_of_.empty(); }
  // The share of examples whose own item is among the k of the largest products with the example's
  // user, of all distinct items that any example has, but for those that the user has in training.
  // An item with as large a product is before the own one where it came first; NaN is never right.
  // It may take minutes: `is_stopped` is asked before each block of 2^22 products, and where it
  // says so there is no share.
  using IsStopped = std::function<bool()>;
  [[nodiscard]] std::optional<double> recall(std::int64_t k, const IsStopped& is_stopped) const;

 private:
  using Numbers = std::unordered_map<std::uint64_t, std::int32_t>;  // by key

  // Items that are before the example's own; `scores` are its user's products with all.
  [[nodiscard]] std::int64_t count_before(std::size_t example, std::span<const float> scores) const;

  std::int64_t features_ = 0;
  std::vector<float> users_;  // [examples, features]
  std::vector<float> items_;  // [distinct items, features]
  Numbers user_numbers_;
  Numbers item_numbers_;
  std::vector<std::int32_t> user_of_;            // [examples]
  std::vector<std::int32_t> item_of_;            // [examples]
  std::vector<std::set<std::int32_t>> trained_;  // by user: items
};

}  // namespace trainyard::runtime
