#include "runtime/data/recsys_set.h"

#include <algorithm>
#include <utility>

#include "runtime/core/portable_math.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

std::vector<float> log_frequencies(std::span<const std::int32_t> ids, std::int64_t columns,
                                   std::int64_t column, std::span<const std::int64_t> training) {
  const auto id_of = [&](std::int64_t row) {
    return ids[static_cast<std::size_t>(row * columns + column)];
  };
  std::vector<std::int32_t> trained;
  for (const std::int64_t row : training) trained.push_back(id_of(row));
  std::ranges::sort(trained);
  const double all = portable_log(static_cast<double>(training.size()));
  std::vector<float> logarithms(ids.size() / static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < logarithms.size(); ++row) {
    const auto same = std::ranges::equal_range(trained, id_of(static_cast<std::int64_t>(row)));
    const auto count = static_cast<double>(std::max<std::size_t>(same.size(), 1));
    logarithms[row] = static_cast<float>(portable_log(count) - all);
  }
  return logarithms;
}

RecsysSet::RecsysSet(DataShape shape, RecsysTable table,
                     std::vector<std::vector<FieldColumn>> fields, SplitRows rows)
    : shape_(std::move(shape)),
      table_(std::move(table)),
      fields_(std::move(fields)),
      rows_(std::move(rows)) {
  ENSURE(shape_.layout == FeatureLayout::columns);
  ENSURE(shape_.id_fields.size() == fields_.size());
  ENSURE(shape_.log_frequency_fields.size() == table_.log_frequencies.size());
}

const std::vector<std::int64_t>& RecsysSet::rows(Split split) const {
  return split == Split::train ? rows_.train : rows_.test;
}

std::int64_t RecsysSet::size(Split split) const { return std::ssize(rows(split)); }

Status RecsysSet::fill(const Selection& selection, Batch& batch) const {
  const auto& source = rows(selection.split);
  const auto features = static_cast<std::size_t>(shape_.features) - table_.log_frequencies.size();
  batch.features.clear();
  batch.labels.clear();
  batch.targets.clear();
  batch.ids.clear();
  for (const std::int64_t index : selection.indices) {
    ENSURE(index >= 0 && index < std::ssize(source));
    const auto row = static_cast<std::size_t>(source[static_cast<std::size_t>(index)]);
    const auto numbers = table_.numbers.subspan(row * features, features);
    batch.features.insert(batch.features.end(), numbers.begin(), numbers.end());
    for (const auto& of_rows : table_.log_frequencies) batch.features.push_back(of_rows[row]);
    if (!table_.labels.empty()) batch.labels.push_back(table_.labels[row]);
    if (!table_.targets.empty()) batch.targets.push_back(table_.targets[row]);
  }
  for (const std::vector<FieldColumn>& field : fields_) {
    for (const std::int64_t index : selection.indices) {
      const std::int64_t row = source[static_cast<std::size_t>(index)];
      for (const FieldColumn& column : field) {
        const auto at = static_cast<std::size_t>(row * table_.columns + column.column);
        batch.ids.push_back(column.first_id + table_.ids[at]);
      }
    }
  }
  return ok();
}

}  // namespace trainyard::runtime
