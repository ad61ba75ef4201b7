#include "runtime/math/rows/row_index.h"

#include <utility>

#include "runtime/core/row_layout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t first_slots = 1024;

}  // namespace

std::size_t RowIndex::place_of(std::int64_t id) const {
  std::size_t place = mix_id(id) >> shift_;
  while (slots_[place].id >= 0 && slots_[place].id != id) place = (place + 1) % slots_.size();
  return place;
}

std::optional<std::uint32_t> RowIndex::find(std::int64_t id) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[place_of(id)];
  if (slot.id != id) return std::nullopt;
  return slot.row;
}

std::uint32_t RowIndex::find_or_add(std::int64_t id, std::uint32_t next) {
  ENSURE(id >= 0);
  if (4 * (size_ + 1) > 3 * slots_.size()) grow();
  Slot& slot = slots_[place_of(id)];
  if (slot.id != id) {
    slot = {id, next};
    ++size_;
  }
  return slot.row;
}

void RowIndex::prefetch(std::int64_t id) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[mix_id(id) >> shift_]);
}

void RowIndex::grow() {
  const std::size_t count = slots_.empty() ? first_slots : 2 * slots_.size();
  const auto old = std::exchange(slots_, std::vector<Slot, HugePages<Slot>>(count));
  shift_ = 64;
  for (std::size_t slots = slots_.size(); slots > 1; slots /= 2) --shift_;
  for (const Slot& slot : old) {
    if (slot.id >= 0) slots_[place_of(slot.id)] = slot;
  }
}

}  // namespace trainyard::runtime
