#include "runtime/data/token_set.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

TokenSet::TokenSet(DataShape shape, TokenTable table)
    : shape_(std::move(shape)), table_(std::move(table)) {
  ENSURE(table_.labels.empty() != table_.targets.empty());
}

std::int64_t TokenSet::size(Split split) const {
  const std::int64_t rows = std::ssize(table_.offsets) - 1;
  return split == Split::train ? table_.train_rows : rows - table_.train_rows;
}

Status TokenSet::fill(const Selection& selection, Batch& batch) const {
  const auto& indices = selection.indices;
  const auto length = static_cast<std::size_t>(shape_.features);
  batch.ids.assign(indices.size() * length, 0);
  batch.lengths.resize(indices.size());
  batch.labels.resize(table_.labels.empty() ? 0 : indices.size());
  batch.targets.resize(table_.targets.empty() ? 0 : indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ENSURE(indices[i] >= 0 && indices[i] < size(selection.split));
    const std::int64_t first = selection.split == Split::train ? 0 : table_.train_rows;
    const auto row = static_cast<std::size_t>(first + indices[i]);
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
