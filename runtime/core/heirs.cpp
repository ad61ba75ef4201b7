// Those who wait are named in turn, from the one after the first absent rank on: several ps that
// see the same name the same ones.
#include "runtime/core/heirs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace trainyard::runtime {

void Inheritance::add(const Inheritance& more) {
  if (!more.asked()) return;
  step = more.step;
  std::vector<std::int64_t> all;
  std::ranges::set_union(ranks, more.ranks, std::back_inserter(all));
  ranks = std::move(all);
}

Heirs::Heirs(std::int64_t ranks)
    : there_(static_cast<std::size_t>(ranks), true), heirs_(there_.size()), asked_(there_.size()) {}

void Heirs::come(std::int64_t rank) {
  if (!there_[static_cast<std::size_t>(rank)]) --absent_;
  there_[static_cast<std::size_t>(rank)] = true;
}

void Heirs::gone(std::int64_t rank) {
  if (there_[static_cast<std::size_t>(rank)]) ++absent_;
  there_[static_cast<std::size_t>(rank)] = false;
  asked_[static_cast<std::size_t>(rank)] = false;
  std::ranges::replace(heirs_, std::optional(rank), std::optional<std::int64_t>());
}

std::vector<Heirs::Asked> Heirs::name(const std::vector<bool>& given,
                                      const std::vector<bool>& waits) {
  if (!there_.front()) return {};
  std::vector<std::size_t> absent;
  std::vector<std::size_t> orphans;
  for (std::size_t rank = 0; rank < there_.size(); ++rank) {
    if (given[rank]) continue;
    if (there_[rank]) return {};
    absent.push_back(rank);
    if (!heirs_[rank]) orphans.push_back(rank);
  }
  if (absent.empty()) return {};

  // Even where nobody waits just now: whoever comes to wait must be asked.
  if (!orphans.empty()) asked_.assign(asked_.size(), false);
  std::vector<Asked> asked;
  for (std::size_t i = 1; i < there_.size(); ++i) {
    const std::size_t rank = (absent.front() + i) % there_.size();
    if (!waits[rank] || asked_[rank]) continue;
    asked_[rank] = true;
    asked.push_back({.heir = static_cast<std::int64_t>(rank), .ranks = {}});
  }
  if (asked.empty()) return {};
  for (std::size_t i = 0; i < orphans.size(); ++i) {
    Asked& next = asked[i % asked.size()];
    next.ranks.push_back(static_cast<std::int64_t>(orphans[i]));
    heirs_[orphans[i]] = next.heir;
  }
  return asked;
}

void Heirs::commit() {
  std::ranges::fill(heirs_, std::nullopt);
  asked_.assign(asked_.size(), false);
}

}  // namespace trainyard::runtime
