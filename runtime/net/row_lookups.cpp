#include "runtime/net/row_lookups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "runtime/math/rows/row_gradients.h"

namespace trainyard::runtime {

RowLookups::RowLookups(std::int64_t ranks, std::int64_t ids_max)
    : ranks_(static_cast<std::size_t>(ranks)), ids_max_(ids_max) {}

void RowLookups::Rank::drop_first() {
  ids -= std::ssize(lookups.front().ids);
  lookups.pop_front();
}

Status RowLookups::check(std::int64_t rank) const {
  if (rank < 0 || rank >= std::ssize(ranks_)) {
    return invalid("no rank " + std::to_string(rank) + " computes gradients");
  }
  return ok();
}

Result<bool> RowLookups::keep(std::int64_t rank, std::int64_t number,
                              std::vector<std::int64_t> ids) {
  TRY(check(rank));
  if (std::ranges::adjacent_find(ids, std::greater_equal{}) != ids.end()) {
    return invalid("ids of a lookup must ascend");
  }
  if (number < 1 || number == std::numeric_limits<std::int64_t>::max()) {
    return invalid("no lookup has number " + std::to_string(number));
  }
  Rank& of = ranks_[static_cast<std::size_t>(rank)];
  if (!of.lookups.empty() && number <= of.lookups.back().number) return false;
  if (ids.empty() || std::ssize(ids) > ids_max_) return false;
  of.ids += std::ssize(ids);
  of.lookups.push_back({number, std::move(ids)});
  while (of.ids > ids_max_) of.drop_first();
  return true;
}

Result<std::vector<std::vector<std::int64_t>>> RowLookups::take(
    std::int64_t rank, std::int64_t first, std::span<const std::int64_t> counts) {
  TRY(check(rank));
  Rank& of = ranks_[static_cast<std::size_t>(rank)];
  auto next = std::ranges::lower_bound(of.lookups, first, {}, &Lookup::number);
  std::int64_t number = first;
  std::vector<std::vector<std::int64_t>> parts;
  for (const std::int64_t count : counts) {
    if (count < 0) return invalid("a part of " + std::to_string(count) + " lookups");
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i, ++number, ++next) {
      if (next == of.lookups.end() || next->number != number) {
        return not_found("lookup " + std::to_string(number) + " of rank " + std::to_string(rank) +
                         " is not kept here");
      }
      ids = i == 0 ? next->ids : add_ids(ids, next->ids);
    }
    parts.push_back(std::move(ids));
  }
  while (!of.lookups.empty() && of.lookups.front().number < number) of.drop_first();
  return parts;
}

}  // namespace trainyard::runtime
