#include "runtime/role/evaluate.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/model/row_batch.h"
#include "runtime/model/split_metrics.h"

namespace trainyard::runtime {

namespace {

std::vector<std::int64_t> indices_from(std::int64_t begin, std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

// What users have in training is no wrong item for them: of the first examples, so many at most.
// Fields of ids are a recsys set's, which is prepared with either split.
constexpr std::int64_t training_examples_max = std::int64_t{1} << 24;

Status add_training(const Evaluation& evaluation, SplitMetrics& metrics) {
  const auto& [task, dataset, model, parameters, table] = evaluation;
  constexpr std::int64_t at_once = 4096;
  const std::int64_t count = std::min(dataset.size(Split::train), training_examples_max);
  Batch batch;
  for (std::int64_t begin = 0; begin < count && !task.stop.stop_requested(); begin += at_once) {
    const std::vector<std::int64_t> indices = indices_from(begin, std::min(at_once, count - begin));
    TRY(task.cause.of(Reason::bad_data, dataset.read({.indices = indices}, batch)));
    metrics.add_training(batch);
  }
  return ok();
}

}  // namespace

Result<MetricValues> evaluate(const Evaluation& evaluation) {
  const auto& [task, dataset, model, parameters, table] = evaluation;
  const std::int64_t count = dataset.size(Split::test);
  if (count == 0) return MetricValues();
  TRY(task.cause.of(Reason::bad_data, dataset.prepare(Split::test)));
  const std::int64_t at_once = leaf_examples(task.context.spec);
  RowBatch rows = model.row_batch();
  Batch batch;
  BatchResult sum;
  SplitMetrics whole(model);
  const auto is_stopped = [&task = task] { return task.stop.stop_requested(); };
  for (std::int64_t begin = 0; begin < count && !is_stopped(); begin += at_once) {
    const std::vector<std::int64_t> indices = indices_from(begin, std::min(at_once, count - begin));
    TRY(task.cause.of(Reason::bad_data,
                      dataset.read({.split = Split::test, .indices = indices}, batch)));
    if (table != nullptr) {
      rows.assign(batch);
      Status read = table->read({}, rows.ids(), rows.rows());
      if (!read.has_value() && is_stopped()) return MetricValues();
      TRY(task.cause.of(Reason::peer_lost, std::move(read)));
    }
    sum += model.evaluate(parameters, batch, table != nullptr ? &rows : nullptr);
    whole.add(model, batch);
  }
  if (is_stopped()) return MetricValues();
  if (whole.reads_training()) TRY(add_training(evaluation, whole));
  MetricValues values = means_of(model.metrics(), sum, "test_");
  whole.put("test_", is_stopped, values);
  return is_stopped() ? MetricValues() : values;
}

}  // namespace trainyard::runtime
