#include "runtime/net/chunks/store_layout.h"

#include <algorithm>
#include <utility>

#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

StoreLayout::StoreLayout(StoreRules rules) : rules_(std::move(rules)) {
  for (const Range& range : rules_.chunks) {
    shares_.push_back({.ranges = {range}});
    offsets_.push_back(elements_);
    elements_ += range.size();
  }
  for (const auto& own : rules_.nodes) ENSURE(rules_.aggregate == 0 || own.size() == 1);
}

std::int64_t StoreLayout::largest_chunk() const {
  std::int64_t largest = 0;
  for (const Range& range : rules_.chunks) largest = std::max(largest, range.size());
  return largest;
}

Range StoreLayout::place_of(std::int64_t chunk) const {
  const std::int64_t begin = offsets_.at(index_of(chunk));
  return {begin, begin + range_of(chunk).size()};
}

std::int64_t StoreLayout::leaf_of(std::int64_t rank, std::size_t part) const {
  const std::int64_t own = rules_.nodes[index_of(rank)][part].begin;
  return rules_.mode == Mode::sync ? own : rank * rules_.leaves + own;
}

std::size_t StoreLayout::gradient_bytes_of(std::int64_t rank, std::int64_t chunk) const {
  return parts_of(rank) * index_of(gradient_bytes(push_of(chunk), share_of(chunk)));
}

std::size_t StoreLayout::residual_bytes_of(std::int64_t rank, std::int64_t chunk) const {
  return parts_of(rank) * index_of(residual_elements_of(chunk)) * sizeof(float);
}

SharedLayout StoreLayout::memory_of(std::int64_t rank) const {
  return {.elements = rules_.arena_elements,
          .versions = versions_kept(rules_.mode, rules_.aggregate > 0),
          .parts = static_cast<std::int64_t>(parts_of(rank)),
          .push = rules_.push,
          .state_begin = rules_.state_begin};
}

}  // namespace trainyard::runtime
