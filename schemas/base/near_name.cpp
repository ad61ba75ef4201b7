#include "schemas/base/near_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include "schemas/base/ascii.h"

namespace trainyard {
namespace {

constexpr std::size_t letters_max = 64;

bool same(char left, char right) { return to_lower(left) == to_lower(right); }

// Changes until one is the other, but for capitals, by three rows of their table: this letter's,
// that of the one before, and the one before that.
std::size_t changes_between(std::string_view left, std::string_view right) {
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(right.size() + 1);
  auto& [older, old, row] = rows;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::swap(older, old);
    std::swap(old, row);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t changed = old[j - 1] + (same(left[i - 1], right[j - 1]) ? 0 : 1);
      row[j] = std::min({changed, old[j] + 1, row[j - 1] + 1});
      const bool is_swapped =
          i > 1 && j > 1 && same(left[i - 1], right[j - 2]) && same(left[i - 2], right[j - 1]);
      if (is_swapped) row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[right.size()];
}

std::size_t common_begin(std::string_view left, std::string_view right) {
  return static_cast<std::size_t>(std::ranges::mismatch(left, right, same).in1 - left.begin());
}

}  // namespace

std::optional<std::string_view> near_name(std::string_view text,
                                          const std::vector<std::string_view>& names) {
  if (text.size() > letters_max) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t longest_begin = 0;
  for (const std::string_view name : names) {
    if (name.size() > letters_max || name == nearest) continue;
    const std::size_t changes = changes_between(text, name);
    if (changes > least || changes > std::max<std::size_t>(name.size() / 3, 1)) continue;
    const std::size_t begin = common_begin(text, name);
    if (changes == least && begin < longest_begin) continue;
    const bool is_better = changes < least || begin > longest_begin;
    nearest = is_better ? std::optional(name) : std::nullopt;
    least = changes;
    longest_begin = begin;
  }
  return nearest;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names) {
  const auto near = near_name(text, names);
  return near ? "; did you mean \"" + std::string(*near) + "\"?" : "";
}

}  // namespace trainyard
