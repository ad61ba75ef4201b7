#include "runtime/role/evaluate.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/model/row_batch.h"
#include "runtime/model/split_metrics.h"

namespace trainyard::runtime {

Result<MetricValues> evaluate(const Evaluation& evaluation) {
  const auto& [task, dataset, model, parameters, table] = evaluation;
  const std::int64_t count = dataset.size(Split::test);
  if (count == 0) return MetricValues();
  TRY(task.cause.of(Reason::bad_data, dataset.prepare(Split::test)));
  const std::int64_t at_once = leaf_examples(task.context.spec.training);
  RowBatch rows = model.row_batch();
  Batch batch;
  BatchResult sum;
  SplitMetrics whole(model);
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = 0; begin < count; begin += at_once) {
    indices.resize(static_cast<std::size_t>(std::min(at_once, count - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    TRY(task.cause.of(Reason::bad_data,
                      dataset.read({.split = Split::test, .indices = indices}, batch)));
    if (table != nullptr) {
      rows.assign(batch);
      Status read = table->read({}, rows.ids(), rows.rows());
      if (!read.has_value() && task.stop.stop_requested()) return MetricValues();
      TRY(task.cause.of(Reason::peer_lost, std::move(read)));
    }
    sum += model.evaluate(parameters, batch, table != nullptr ? &rows : nullptr);
    whole.add(model, batch);
  }
  MetricValues values = means_of(model.metrics(), sum, "test_");
  whole.put("test_", values);
  return values;
}

}  // namespace trainyard::runtime
