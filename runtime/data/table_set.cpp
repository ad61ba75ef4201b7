#include "runtime/data/table_set.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

TableSet::TableSet(DataShape shape, Table table, SplitRows rows)
    : shape_(std::move(shape)), table_(std::move(table)), rows_(std::move(rows)) {
  ENSURE(table_.labels.empty() != table_.targets.empty());
}

const std::vector<std::int64_t>& TableSet::rows(Split split) const {
  return split == Split::train ? rows_.train : rows_.test;
}

std::int64_t TableSet::size(Split split) const { return std::ssize(rows(split)); }

Status TableSet::fill(const Selection& selection, Batch& batch) const {
  const auto& indices = selection.indices;
  const auto& source = rows(selection.split);
  const auto features = static_cast<std::size_t>(shape_.features);
  batch.features.resize(indices.size() * features);
  batch.labels.resize(table_.labels.empty() ? 0 : indices.size());
  batch.targets.resize(table_.targets.empty() ? 0 : indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ENSURE(indices[i] >= 0 && indices[i] < std::ssize(source));
    const auto row = static_cast<std::size_t>(source[static_cast<std::size_t>(indices[i])]);
    std::copy_n(table_.features.data() + row * features, features,
                batch.features.data() + i * features);
    if (!batch.labels.empty()) batch.labels[i] = table_.labels[row];
    if (!batch.targets.empty()) batch.targets[i] = table_.targets[row];
  }
  return ok();
}

}  // namespace trainyard::runtime
