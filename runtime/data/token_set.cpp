#include "runtime/data/token_set.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

TokenSet::TokenSet(DataShape shape, TokenTable table)
    : shape_(std::move(shape)), table_(std::move(table)) {
  ENSURE(table_.labels.empty() != table_.targets.empty());
  ENSURE(shape_.buckets.empty() || shape_.buckets.back() == shape_.features);
}

std::int64_t TokenSet::size(Split split) const {
  const std::int64_t rows = std::ssize(table_.offsets) - 1;
  return split == Split::train ? table_.train_rows : rows - table_.train_rows;
}

std::size_t TokenSet::row_of(Split split, std::int64_t index) const {
  ENSURE(index >= 0 && index < size(split));
  return static_cast<std::size_t>(index + (split == Split::train ? 0 : table_.train_rows));
}

std::int64_t TokenSet::bucket_of(const Selection& selection) const {
  if (shape_.buckets.empty()) return shape_.features;
  std::int64_t longest = 0;
  for (const std::int64_t index : selection.indices) {
    const std::size_t row = row_of(selection.split, index);
    longest = std::max(longest, table_.offsets[row + 1] - table_.offsets[row]);
  }
  return *std::ranges::lower_bound(shape_.buckets, longest);
}

Status TokenSet::fill(const Selection& selection, Batch& batch) const {
  const auto& indices = selection.indices;
  const auto length = static_cast<std::size_t>(bucket_of(selection));
  batch.ids.assign(indices.size() * length, 0);
  batch.lengths.resize(indices.size());
  batch.labels.resize(table_.labels.empty() ? 0 : indices.size());
  batch.targets.resize(table_.targets.empty() ? 0 : indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t row = row_of(selection.split, indices[i]);
    const auto begin = static_cast<std::size_t>(table_.offsets[row]);
    const std::size_t count = static_cast<std::size_t>(table_.offsets[row + 1]) - begin;
    std::ranges::copy(table_.ids.subspan(begin, count),
                      batch.ids.begin() + static_cast<std::ptrdiff_t>(i * length));
    batch.lengths[i] = static_cast<std::int32_t>(count);
    if (!batch.labels.empty()) batch.labels[i] = table_.labels[row];
    if (!batch.targets.empty()) batch.targets[i] = table_.targets[row];
  }
  return ok();
}

}  // namespace trainyard::runtime
