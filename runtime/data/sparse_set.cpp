#include "runtime/data/sparse_set.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

SparseSet::SparseSet(DataShape shape, SparseTable table, SplitRows rows)
    : shape_(std::move(shape)), table_(std::move(table)), rows_(std::move(rows)) {
  ENSURE(shape_.layout == FeatureLayout::sparse);
  ENSURE(table_.rows.offsets.size() == table_.labels.size() + 1);
}

const std::vector<std::int64_t>& SparseSet::rows(Split split) const {
  return split == Split::train ? rows_.train : rows_.test;
}

std::int64_t SparseSet::size(Split split) const { return std::ssize(rows(split)); }

Status SparseSet::fill(const Selection& selection, Batch& batch) const {
  const auto& source = rows(selection.split);
  const SparseView& all = table_.rows;
  SparseRows& out = batch.sparse;
  batch.features.clear();
  batch.targets.clear();
  batch.labels.clear();
  out.offsets.assign(1, 0);
  out.columns.clear();
  out.values.clear();
  for (const std::int64_t index : selection.indices) {
    ENSURE(index >= 0 && index < std::ssize(source));
    const auto row = static_cast<std::size_t>(source[static_cast<std::size_t>(index)]);
    const std::int64_t begin = all.offsets[row];
    const std::int64_t end = all.offsets[row + 1];
    out.columns.insert(out.columns.end(), all.columns.begin() + begin, all.columns.begin() + end);
    out.values.insert(out.values.end(), all.values.begin() + begin, all.values.begin() + end);
    out.offsets.push_back(std::ssize(out.columns));
    batch.labels.push_back(table_.labels[row]);
  }
  return ok();
}

}  // namespace trainyard::runtime
