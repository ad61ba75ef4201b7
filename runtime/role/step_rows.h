// The rows of an embedding table that a worker's step reads, and whose gradients it pushes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/model/row_batch.h"
#include "runtime/role/row_exchange.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class StepRows {
 public:
  StepRows(std::unique_ptr<RowExchange> exchange, RowBatch batch, Mode mode);

  // Those of the batch, for this step.
  Status read(std::int64_t step, const Batch& batch);
  // Of the batch that was read last: its rows, and where their gradients go.
  [[nodiscard]] RowBatch& batch() { return batch_; }
  // Whether rows come one by one, and their gradients are summed by id here. Else ps sum the rows
  // of each example, and are sent one gradient for each.
  [[nodiscard]] bool sums_here() const { return !exchange_->pools() || !batch_.has_bags(); }

  // `parts`: of each node of the reduction tree. None: of the batch, where rows are summed by ps.
  [[nodiscard]] bool is_finite(const std::vector<RowGradients>& parts) const;
  // Ahead of all else of the step.
  Status push(const RowExchange::Step& step, std::vector<RowGradients> parts);

  [[nodiscard]] RowExchange& exchange() { return *exchange_; }

 private:
  std::unique_ptr<RowExchange> exchange_;
  Mode mode_;
  RowBatch batch_;
};

}  // namespace trainyard::runtime
