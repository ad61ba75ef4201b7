#include "runtime/net/row_lookups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "runtime/math/rows/row_gradients.h"

namespace trainyard::runtime {

RowLookups::RowLookups(std::int64_t ranks, std::int64_t size_max)
    : ranks_(static_cast<std::size_t>(ranks)), size_max_(size_max) {}

void RowLookups::Rank::drop_first() {
  size -= lookups.front().what.size();
  lookups.pop_front();
}

Status RowLookups::check(std::int64_t rank) const {
  if (rank < 0 || rank >= std::ssize(ranks_)) {
    return invalid("no rank " + std::to_string(rank) + " computes gradients");
  }
  return ok();
}

Result<bool> RowLookups::keep(std::int64_t rank, std::int64_t number, LookedUp what) {
  TRY(check(rank));
  if (std::ranges::adjacent_find(what.ids, std::greater_equal{}) != what.ids.end()) {
    return invalid("ids of a lookup must ascend");
  }
  if (number < 1 || number == std::numeric_limits<std::int64_t>::max()) {
    return invalid("no lookup has number " + std::to_string(number));
  }
  Rank& of = ranks_[static_cast<std::size_t>(rank)];
  if (!of.lookups.empty() && number <= of.lookups.back().number) return false;
  if (what.ids.empty() || what.size() > size_max_) return false;
  of.size += what.size();
  of.lookups.push_back({number, std::move(what)});
  while (of.size > size_max_) of.drop_first();
  return true;
}

Result<std::vector<LookedUp>> RowLookups::take(std::int64_t rank, std::int64_t first,
                                               std::span<const std::int64_t> counts) {
  TRY(check(rank));
  Rank& of = ranks_[static_cast<std::size_t>(rank)];
  auto next = std::ranges::lower_bound(of.lookups, first, {}, &Lookup::number);
  std::int64_t number = first;
  std::vector<LookedUp> parts;
  for (const std::int64_t count : counts) {
    if (count < 0) return invalid("a part of " + std::to_string(count) + " lookups");
    LookedUp part;
    for (std::int64_t i = 0; i < count; ++i, ++number, ++next) {
      if (next == of.lookups.end() || next->number != number) {
        return not_found("lookup " + std::to_string(number) + " of rank " + std::to_string(rank) +
                         " is not kept here");
      }
      if (count > 1 && next->what.pooled()) return invalid("sums of several lookups in one part");
      if (i == 0) {
        part = next->what;
      } else {
        part.ids = add_ids(part.ids, next->what.ids);
      }
    }
    parts.push_back(std::move(part));
  }
  while (!of.lookups.empty() && of.lookups.front().number < number) of.drop_first();
  return parts;
}

}  // namespace trainyard::runtime
