#include "runtime/data/recsys_set.h"

#include <algorithm>
#include <utility>

#include "runtime/data/log_frequency.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

RecsysSet::RecsysSet(DataShape shape, RecsysTable table,
                     std::vector<std::vector<FieldColumn>> fields,
                     std::vector<std::int64_t> counted, SplitRows rows)
    : shape_(std::move(shape)),
      table_(std::move(table)),
      fields_(std::move(fields)),
      counted_(std::move(counted)),
      rows_(std::move(rows)) {
  ENSURE(shape_.layout == FeatureLayout::columns);
  ENSURE(shape_.id_fields.size() == fields_.size());
  ENSURE(shape_.log_frequency_fields.size() == counted_.size());
}

const std::vector<std::int64_t>& RecsysSet::rows(Split split) const {
  return split == Split::train ? rows_.train : rows_.test;
}

std::int64_t RecsysSet::size(Split split) const { return std::ssize(rows(split)); }

Status RecsysSet::prepare(Split /*split*/) const {
  std::call_once(are_counted_, [this] {
    for (const std::int64_t column : counted_) {
      const IdColumn ids{.table = table_.ids, .columns = table_.columns, .column = column};
      log_frequencies_.push_back(log_frequencies(ids, rows_.train));
    }
  });
  return ok();
}

Status RecsysSet::fill(const Selection& selection, Batch& batch) const {
  const auto& source = rows(selection.split);
  ENSURE(log_frequencies_.size() == counted_.size());  // prepared
  const auto features = static_cast<std::size_t>(shape_.features) - counted_.size();
  batch.features.clear();
  batch.labels.clear();
  batch.targets.clear();
  batch.ids.clear();
  for (const std::int64_t index : selection.indices) {
    ENSURE(index >= 0 && index < std::ssize(source));
    const auto row = static_cast<std::size_t>(source[static_cast<std::size_t>(index)]);
    const auto numbers = table_.numbers.subspan(row * features, features);
    batch.features.insert(batch.features.end(), numbers.begin(), numbers.end());
    for (const auto& of_rows : log_frequencies_) batch.features.push_back(of_rows[row]);
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
