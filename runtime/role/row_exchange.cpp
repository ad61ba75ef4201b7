#include "runtime/role/row_exchange.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {

Status RemoteRows::count(Result<Traffic> traffic) {
  TRY_ASSIGN(const Traffic more, std::move(traffic));
  traffic_ += more;
  return ok();
}

Status RemoteRows::read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
                        std::span<float> rows) {
  return count(client_->read(version, ids, rows));
}

Status RemoteRows::push(const Step& step, std::vector<RowGradients> parts) {
  return count(client_->push({.step = step.number, .snapshot = step.snapshot}, std::move(parts)));
}

Result<PooledBags> RemoteRows::read_bags(const BagView& batch) {
  TRY_ASSIGN(RowClient::BagsRead read, client_->read_bags(batch));
  TRY(count(read.traffic));
  return std::move(read.bags);
}

Status RemoteRows::push_bags(const Step& step, std::span<const float> gradients) {
  return count(client_->push_bags({.step = step.number, .snapshot = step.snapshot}, gradients));
}

// One rank alone: each version is made by the time that it is asked for.
Status LocalRows::read(std::optional<std::int64_t> version, std::span<const std::int64_t> ids,
                       std::span<float> rows) {
  Result<std::vector<float>> answer = internal("rows of a version that was never made");
  store_.read({.rank = 0, .version = version, .ids = {ids.begin(), ids.end()}},
              [&answer](Result<std::vector<float>> given) { answer = std::move(given); });
  TRY_ASSIGN(const std::vector<float> found, std::move(answer));
  ENSURE(found.size() == rows.size());
  std::ranges::copy(found, rows.begin());
  return ok();
}

Status LocalRows::push(const Step& step, std::vector<RowGradients> parts) {
  return store_.push({.rank = 0, .step = step.number, .snapshot = 0, .parts = std::move(parts)});
}

}  // namespace trainyard::runtime
