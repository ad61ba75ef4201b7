// The examples of a data set, read at once.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

struct SyntheticDigitsSize {
  std::int64_t train_examples = 0;
  std::int64_t test_examples = 0;
};

inline std::unique_ptr<Dataset> make_synthetic_digits(std::uint64_t seed, SyntheticDigitsSize size,
                                                      const DataCache& cache = DataCache()) {
  DatasetSpec spec;
  spec.format = "synthetic_digits";
  spec.train_examples = size.train_examples;
  spec.test_examples = size.test_examples;
  auto data = open_dataset(spec, seed, cache);
  REQUIRE(data);
  return *std::move(data);
}

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
