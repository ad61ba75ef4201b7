// The examples of a data set, read at once.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// Of the whole split, in their order.
inline Batch read_all(const Dataset& data, Split split) {
  REQUIRE(data.prepare(split));
  std::vector<std::int64_t> indices(static_cast<std::size_t>(data.size(split)));
  std::iota(indices.begin(), indices.end(), 0);
  Batch batch;
  REQUIRE(data.read({split, indices}, batch));
  return batch;
}

}  // namespace trainyard::runtime
