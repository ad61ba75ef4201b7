#include "runtime/math/rows/bag_shares.h"

#include <algorithm>
#include <cstddef>

#include "runtime/core/row_layout.h"

namespace trainyard::runtime {
namespace {

// Which ps holds a row of the batch, and where it is in that one's ids.
struct Place {
  std::size_t owner = 0;
  std::int32_t place = 0;
};

std::vector<Place> share_ids(const BagView& batch, std::vector<BagShare>& shares) {
  std::vector<Place> places;
  places.reserve(batch.ids.size());
  for (const std::int64_t id : batch.ids) {
    const auto owner = static_cast<std::size_t>(owner_of_row(id, std::ssize(shares)));
    places.push_back({owner, static_cast<std::int32_t>(shares[owner].ids.size())});
    shares[owner].ids.push_back(id);
  }
  return places;
}

void add_element(BagShare& share, std::int64_t example, std::int32_t place, float value) {
  if (share.examples.empty() || share.examples.back() != example) {
    share.examples.push_back(example);
    share.bags.offsets.push_back(share.bags.offsets.back());
  }
  share.bags.columns.push_back(place);
  share.bags.values.push_back(value);
  ++share.bags.offsets.back();
}

}  // namespace

std::vector<BagShare> share_bags(const BagView& batch, std::int64_t owners, std::int64_t width) {
  std::vector<BagShare> shares(static_cast<std::size_t>(owners));
  const std::vector<Place> places = share_ids(batch, shares);
  for (std::int64_t example = 0; example < batch.x.rows(); ++example) {
    const auto at = static_cast<std::size_t>(example);
    for (std::int64_t i = batch.x.offsets[at]; i < batch.x.offsets[at + 1]; ++i) {
      const auto element = static_cast<std::size_t>(i);
      const Place to = places[static_cast<std::size_t>(batch.places[element])];
      add_element(shares[to.owner], example, to.place, batch.x.values[element]);
    }
  }
  for (BagShare& share : shares) {
    share.mode = row_mode({.ids = std::ssize(share.ids),
                           .bags = std::ssize(share.examples),
                           .elements = std::ssize(share.bags.columns),
                           .width = width});
  }
  return shares;
}

SparseRows join_bags(const std::vector<BagShare>& shares, std::int64_t examples) {
  SparseRows joined{.offsets = {0}, .columns = {}, .values = {}};
  std::vector<std::size_t> next(shares.size());  // by ps: the bag that comes next
  for (std::int64_t example = 0; example < examples; ++example) {
    std::int64_t base = 0;
    for (std::size_t ps = 0; ps < shares.size(); ++ps) {
      const BagShare& share = shares[ps];
      const std::int64_t first = base;
      base += share.vectors();
      const std::size_t bag = next[ps];
      if (bag == share.examples.size() || share.examples[bag] != example) continue;
      ++next[ps];
      if (share.mode == RowMode::bags) {
        joined.columns.push_back(static_cast<std::int32_t>(first + static_cast<std::int64_t>(bag)));
        joined.values.push_back(1.0F);
        continue;
      }
      for (std::int64_t i = share.bags.offsets[bag]; i < share.bags.offsets[bag + 1]; ++i) {
        const auto element = static_cast<std::size_t>(i);
        joined.columns.push_back(static_cast<std::int32_t>(first) + share.bags.columns[element]);
        joined.values.push_back(share.bags.values[element]);
      }
    }
    joined.offsets.push_back(std::ssize(joined.columns));
  }
  return joined;
}

}  // namespace trainyard::runtime
