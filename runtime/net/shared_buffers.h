// Where a ps keeps its weights so that workers on its host can read them in place. Used by one
// thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "runtime/net/shared_floats.h"

namespace trainyard::runtime {

class SharedBuffers {
 public:
  // A buffer of zeros that find() knows; where the system shares no memory, one of its own that
  // find() does not know.
  AlignedBuffer make(std::size_t elements);

  struct Place {
    std::int64_t number = 0;  // from 1, never used again
    int descriptor = -1;
  };
  [[nodiscard]] std::optional<Place> find(const AlignedBuffer& buffer) const;

 private:
  std::map<const float*, std::pair<std::int64_t, SharedFloats>> made_;  // by where it begins
};

}  // namespace trainyard::runtime
