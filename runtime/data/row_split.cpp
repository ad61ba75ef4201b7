#include "runtime/data/row_split.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/core/counter_rng.h"

namespace trainyard::runtime {
namespace {

Error bad_split(const DatasetSpec& spec, const std::string& what) {
  return invalid("dataset: " + spec.path + ": " + what);
}

Status keep_first(const DatasetSpec& spec, const std::string& field, std::int64_t wanted,
                  std::vector<std::int64_t>& rows) {
  if (wanted == 0) return ok();
  if (wanted < 0 || wanted > std::ssize(rows)) {
    return bad_split(spec, "dataset." + field + " is " + std::to_string(wanted) +
                               ", but that split has " + std::to_string(rows.size()) + " rows");
  }
  rows.resize(static_cast<std::size_t>(wanted));
  return ok();
}

}  // namespace

// The rows with the smallest of random numbers that belong to the rows: any share is drawn, and
// drawn again by seed.
Result<SplitRows> split_rows(const DatasetSpec& spec, std::uint64_t seed, std::int64_t row_count) {
  const auto test_count = static_cast<std::int64_t>(
      std::floor(spec.test_fraction * static_cast<double>(row_count) + 0.5));
  if (test_count < 1 || test_count >= row_count) {
    return bad_split(spec,
                     "of its " + std::to_string(row_count) +
                         " rows dataset.test_fraction leaves none for training or none for the "
                         "test");
  }
  const CounterRng rng(seed, RngStream::split);
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (std::int64_t row = 0; row < row_count; ++row) {
    order.emplace_back(rng.bits(static_cast<std::uint64_t>(row)), row);
  }
  std::ranges::sort(order);
  SplitRows rows;
  for (const auto& [draw, row] : order) {
    (std::ssize(rows.test) < test_count ? rows.test : rows.train).push_back(row);
  }
  std::ranges::sort(rows.train);
  std::ranges::sort(rows.test);
  return rows;
}

Status keep_first_rows(const DatasetSpec& spec, SplitRows& rows) {
  TRY(keep_first(spec, "train_examples", spec.train_examples, rows.train));
  return keep_first(spec, "test_examples", spec.test_examples, rows.test);
}

}  // namespace trainyard::runtime
