#include "runtime/model/row_batch.h"

#include "runtime/math/rows/id_order.h"

namespace trainyard::runtime {

void RowBatch::assign(const SparseRows& x) {
  pooled_.reset();
  order_.resize(x.columns.size());
  spare_.resize(x.columns.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    order_[i] = id_key(x.columns[i], static_cast<std::uint32_t>(i));
  }
  ids_.clear();
  places_.resize(x.columns.size());
  for (const std::uint64_t key : sort_by_id(order_, spare_)) {
    const std::int64_t id = id_of(key);
    if (ids_.empty() || ids_.back() != id) ids_.push_back(id);
    places_[position_of(key)] = static_cast<std::int32_t>(ids_.size()) - 1;
  }
  rows_.resize(ids_.size() * static_cast<std::size_t>(width_));
}

}  // namespace trainyard::runtime
