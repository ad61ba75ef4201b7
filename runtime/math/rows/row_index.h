// Where a table's rows lie: ids to row numbers, by open addressing with linear probing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/math/huge_pages.h"

namespace trainyard::runtime {

class RowIndex {
 public:
  // The number that belongs to the id.
  [[nodiscard]] std::optional<std::uint32_t> find(std::int64_t id) const;
  // The number that belongs to the id, or `next`, which belongs to it from now on. Ids are 0 or
  // more.
  std::uint32_t find_or_add(std::int64_t id, std::uint32_t next);
  // Fetches the place of an id into the cache: a large index is nowhere near it.
  void prefetch(std::int64_t id) const;

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::int64_t id = -1;  // none
    std::uint32_t row = 0;
  };

  [[nodiscard]] std::size_t place_of(std::int64_t id) const;  // of the id, or of the empty slot
  void grow();

  std::vector<Slot, HugePages<Slot>>
      slots_;       // a power of two of them, at most three quarters taken; or none
  int shift_ = 64;  // the hash's upper bits are a slot's number
  std::size_t size_ = 0;
};

}  // namespace trainyard::runtime
