// Which rows of a file are for training and which for the test.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// Numbers of rows.
struct SplitRows {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> test;
};

// A share of spec.test_fraction of the rows, drawn by `seed`, is the test split; both splits keep
// the file's order. `invalid` where one of them would be empty.
Result<SplitRows> split_rows(const DatasetSpec& spec, std::uint64_t seed, std::int64_t row_count);

// Keeps the first spec.train_examples and spec.test_examples of each split; 0 = all. `invalid`
// where a split has fewer.
Status keep_first_rows(const DatasetSpec& spec, SplitRows& rows);

// The same of files that lie in order of their classes: so many are drawn by `seed` in place of the
// first ones, and stay in the file's order.
Status keep_drawn_rows(const DatasetSpec& spec, std::uint64_t seed, SplitRows& rows);

}  // namespace trainyard::runtime
