// Where a table's rows lie: ids to row numbers, by open addressing with linear probing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/row_layout.h"
#include "schemas/base/huge_pages.h"

namespace trainyard::runtime {

class RowIndex {
 public:
  // The number that belongs to the id.
  [[nodiscard]] std::optional<std::uint32_t> find(std::int64_t id) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[place_of(id)];
    if (slot.id != id) return std::nullopt;
    return slot.row;
  }
  // The number that belongs to the id, or `next`, which belongs to it from now on. Ids are 0 or
  // more.
  std::uint32_t find_or_add(std::int64_t id, std::uint32_t next);
  // Fetches the place of an id into the cache: a large index is nowhere near it.
  void prefetch(std::int64_t id) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[mix_id(id) >> shift_]);
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::int64_t id = -1;  // none
    std::uint32_t row = 0;
  };

  // Of the id, or of the empty slot.
  [[nodiscard]] std::size_t place_of(std::int64_t id) const {
    std::size_t place = mix_id(id) >> shift_;
    while (slots_[place].id >= 0 && slots_[place].id != id) place = (place + 1) & last_;
    return place;
  }
  void grow();

  std::vector<Slot, HugePages<Slot>>
      slots_;             // a power of two of them, at most three quarters taken; or none
  std::size_t last_ = 0;  // slot
  int shift_ = 64;        // the hash's upper bits are a slot's number
  std::size_t size_ = 0;
};

}  // namespace trainyard::runtime
