// The embedding table's part of RemoteParams: calls of their own beside the streams.
#include <utility>

#include "runtime/net/remote_params.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

void RemoteParams::prepare_rows() {
  if (options_.row_width == 0) return;
  rows_.emplace(row_peers_, RowCalls::Options{.token = options_.token,
                                              .rank = options_.rank,
                                              .width = options_.row_width,
                                              .limit = options_.exchange_limit,
                                              .stop = options_.stop});
}

Status RemoteParams::read_rows(std::span<const std::int64_t> ids, std::span<float> rows) {
  ENSURE(rows_.has_value());
  return rows_->read(ids, rows);
}

Status RemoteParams::push_rows(std::int64_t step, std::vector<RowGradients> parts) {
  ENSURE(rows_.has_value());
  return rows_->push(step, std::move(parts));
}

}  // namespace trainyard::runtime
