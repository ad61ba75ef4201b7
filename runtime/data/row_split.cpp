#include "runtime/data/row_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
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

// By random numbers that belong to the rows.
std::vector<std::int64_t> drawn_order(const CounterRng& rng, std::span<const std::int64_t> rows) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (const std::int64_t row : rows) {
    order.emplace_back(rng.bits(static_cast<std::uint64_t>(row)), row);
  }
  std::ranges::sort(order);
  std::vector<std::int64_t> drawn;
  for (const auto& [draw, row] : order) drawn.push_back(row);
  return drawn;
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
  std::vector<std::int64_t> all(static_cast<std::size_t>(row_count));
  std::iota(all.begin(), all.end(), 0);
  const auto order = drawn_order(CounterRng(seed, RngStream::split), all);
  SplitRows rows;
  for (const std::int64_t row : order) {
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

Status keep_drawn_rows(const DatasetSpec& spec, std::uint64_t seed, SplitRows& rows) {
  // Not the numbers that split them: those of a split are all small, or all large.
  rows.train = drawn_order(CounterRng(seed, RngStream::split, 1), rows.train);
  rows.test = drawn_order(CounterRng(seed, RngStream::split, 2), rows.test);
  TRY(keep_first_rows(spec, rows));
  std::ranges::sort(rows.train);
  std::ranges::sort(rows.test);
  return ok();
}

}  // namespace trainyard::runtime
