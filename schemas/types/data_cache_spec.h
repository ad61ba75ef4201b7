// Where a host keeps decoded data sets, for all its tasks.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

struct DataCacheSpec {
  std::string folder;  // "": none
  std::int64_t bytes_max = 0;
  bool operator==(const DataCacheSpec&) const = default;
};

}  // namespace trainyard
