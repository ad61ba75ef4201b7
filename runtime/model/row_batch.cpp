#include "runtime/model/row_batch.h"

#include <algorithm>

#include "runtime/math/rows/id_order.h"

namespace trainyard::runtime {
namespace {

std::span<const std::int32_t> elements_of(const RowSource& source, const Batch& batch) {
  if (source.kind == RowSource::Kind::sparse) return batch.sparse.columns;
  return ids_of(
      {.examples = batch.examples, .features = {}, .labels = {}, .targets = {}, .ids = batch.ids},
      source.field);
}

}  // namespace

RowBatch::RowBatch(RowWidths widths, std::vector<RowSource> sources) : widths_(std::move(widths)) {
  ENSURE(widths_.tables() == std::ssize(sources));
  for (const RowSource& source : sources) tables_.push_back({.source = source});
}

void RowBatch::assign(const Batch& batch) {
  pooled_.reset();
  ids_.clear();
  std::size_t floats = 0;
  for (std::int64_t number = 0; number < widths_.tables(); ++number) {
    Table& table = tables_[static_cast<std::size_t>(number)];
    const std::size_t first_id = ids_.size();
    assign_table(number, elements_of(table.source, batch));
    table.first_float = floats;
    table.floats = (ids_.size() - first_id) * static_cast<std::size_t>(widths_.of_table(number));
    floats += table.floats;
  }
  rows_.resize(floats);
}

void RowBatch::assign_table(std::int64_t number, std::span<const std::int32_t> elements) {
  order_.resize(elements.size());
  spare_.resize(elements.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    order_[i] = id_key(elements[i], static_cast<std::uint32_t>(i));
  }
  std::vector<std::int32_t>& places = tables_[static_cast<std::size_t>(number)].places;
  places.resize(elements.size());
  const std::size_t first = ids_.size();
  for (const std::uint64_t key : sort_by_id(order_, spare_)) {
    const std::int64_t row = row_of(number, id_of(key));
    if (ids_.size() == first || ids_.back() != row) ids_.push_back(row);
    places[position_of(key)] = static_cast<std::int32_t>(ids_.size() - first) - 1;
  }
}

std::span<const RowFeed> RowBatch::feeds() {
  feeds_.clear();
  if (pooled_) {
    feeds_.push_back({.places = pooled_->x.columns,
                      .rows = pooled_->vectors,
                      .gradients = gradients_,
                      .width = widths_.of_table(0),
                      .pooled = pooled_->x.view()});
    return feeds_;
  }
  for (std::int64_t number = 0; number < widths_.tables(); ++number) {
    const Table& table = tables_[static_cast<std::size_t>(number)];
    const std::span<float> gradients(gradients_);
    feeds_.push_back(
        {.places = table.places,
         .rows = std::span<const float>(rows_).subspan(table.first_float, table.floats),
         .gradients =
             gradients.empty() ? gradients : gradients.subspan(table.first_float, table.floats),
         .width = widths_.of_table(number)});
  }
  return feeds_;
}

}  // namespace trainyard::runtime
