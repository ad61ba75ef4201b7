#include "runtime/math/rows/row_index.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t first_slots = 1024;

}  // namespace

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

void RowIndex::grow() {
  const std::size_t count = slots_.empty() ? first_slots : 2 * slots_.size();
  const auto old = std::exchange(slots_, std::vector<Slot, HugePages<Slot>>(count));
  last_ = count - 1;
  shift_ = 64;
  for (std::size_t slots = slots_.size(); slots > 1; slots /= 2) --shift_;
  for (const Slot& slot : old) {
    if (slot.id >= 0) slots_[place_of(slot.id)] = slot;
  }
}

}  // namespace trainyard::runtime
