#include "runtime/role/step_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/math/finite.h"

namespace trainyard::runtime {

StepRows::StepRows(std::unique_ptr<RowExchange> exchange, RowBatch batch, Mode mode)
    : exchange_(std::move(exchange)), mode_(mode), batch_(std::move(batch)) {}

Status StepRows::read(std::int64_t step, const Batch& batch) {
  batch_.assign(batch);
  if (sums_here()) {
    const auto version = mode_ == Mode::sync ? std::optional(step - 1) : std::nullopt;
    return exchange_->read(version, batch_.ids(), batch_.rows());
  }
  TRY_ASSIGN(auto pooled, exchange_->read_bags(batch_.bags(batch.sparse)));
  batch_.take(std::move(pooled));
  return ok();
}

bool StepRows::is_finite(const std::vector<RowGradients>& parts) const {
  if (!sums_here()) return all_finite(batch_.vector_gradients());
  return std::ranges::all_of(parts, [](const RowGradients& part) { return all_finite(part.rows); });
}

Status StepRows::push(const RowExchange::Step& step, std::vector<RowGradients> parts) {
  if (sums_here()) return exchange_->push(step, std::move(parts));
  return exchange_->push_bags(step, batch_.vector_gradients());
}

}  // namespace trainyard::runtime
