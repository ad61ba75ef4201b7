#include "runtime/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/core/counter_rng.h"
#include "runtime/graph/executor.h"
#include "runtime/math/ops/reduction.h"
#include "runtime/model/build.h"
#include "runtime/model/row_batch.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

PlanRequest plan_request(const BuiltModel& built, std::int64_t batch_size) {
  PlanRequest request{.examples = batch_size, .loss = built.loss, .outputs = {built.loss}};
  if (built.matches) request.outputs.push_back(*built.matches);
  return request;
}

Feed feed_of(const Batch& batch, RowBatch* rows) {
  return {.examples = batch.examples,
          .features = batch.features,
          .labels = batch.labels,
          .targets = batch.targets,
          .sparse = batch.sparse.view(),
          .rows = rows == nullptr ? RowFeed{} : rows->feed()};
}

void fill(const InitialValue& initial, const CounterRng& rng, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (initial.kind) {
      case InitialValue::Kind::constant: values[i] = static_cast<float>(initial.scale); break;
      case InitialValue::Kind::normal:
        values[i] = static_cast<float>(initial.scale * rng.normal(i));
        break;
      case InitialValue::Kind::uniform:
        values[i] = static_cast<float>(initial.scale * (2.0 * rng.uniform(i) - 1.0));
        break;
    }
  }
}

}  // namespace

struct Model::Parts {
  std::vector<InitialValue> initial;
  RowLayout rows;
  NodeId loss;
  std::optional<NodeId> matches;
  Executor executor;

  Parts(BuiltModel built, std::int64_t batch_size)
      : initial(std::move(built.builder.initial)),
        rows(std::move(built.builder.rows)),
        loss(built.loss),
        matches(built.matches),
        executor(std::move(built.builder.graph), plan_request(built, batch_size)) {}

  BatchResult forward(std::span<const float> parameters, const Feed& feed, Pass pass,
                      const std::function<void(std::size_t)>& on_need = {}) {
    executor.forward(parameters, feed, pass, on_need);
    BatchResult result{.examples = feed.examples};
    result.loss_sum = sum_in_double(executor.value(loss).span());
    if (matches) {
      result.correct = static_cast<std::int64_t>(sum_in_double(executor.value(*matches).span()));
    }
    return result;
  }
};

Result<Model> Model::build(const model::Written& written, const DataShape& data,
                           std::int64_t batch_size) {
  if (batch_size < 1) {
    return invalid("training.batch_size must be 1 or more, got " + std::to_string(batch_size));
  }
  TRY_ASSIGN(BuiltModel built, build_graph(written, data));
  return Model(std::make_unique<Parts>(std::move(built), batch_size));
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const Variable> Model::variables() const { return parts_->executor.graph().variables(); }

const RowLayout& Model::rows() const { return parts_->rows; }

std::int64_t Model::arena_elements() const { return parts_->executor.graph().arena_elements(); }

void Model::initialize(std::uint64_t seed, std::span<float> parameters) const {
  ENSURE(std::ssize(parameters) == arena_elements());
  std::ranges::fill(parameters, 0.0F);
  std::uint32_t index = 0;
  for (const Variable& variable : variables()) {
    const auto range = parameters.subspan(static_cast<std::size_t>(variable.offset),
                                          static_cast<std::size_t>(variable.elements));
    fill(parts_->initial[index], CounterRng(seed, RngStream::initialize, index), range);
    ++index;
  }
}

BatchResult Model::gradient(std::span<const float> parameters, const Batch& batch,
                            std::span<float> gradients, const GradientCallbacks& news,
                            RowBatch* rows) {
  ENSURE((rows != nullptr) == (parts_->rows.width() > 0));
  if (rows != nullptr) rows->clear_gradients();
  const Feed feed = feed_of(batch, rows);
  const BatchResult result = parts_->forward(parameters, feed, Pass::train, news.on_need);
  if (news.on_result) news.on_result(result);
  parts_->executor.backward(parameters, feed, gradients, news.on_final,
                            news.parameters_stay ? Executor::Parameters::stay
                                                 : Executor::Parameters::may_change_when_final);
  return result;
}

BatchResult Model::evaluate(std::span<const float> parameters, const Batch& batch, RowBatch* rows) {
  ENSURE((rows != nullptr) == (parts_->rows.width() > 0));
  return parts_->forward(parameters, feed_of(batch, rows), Pass::evaluate);
}

}  // namespace trainyard::runtime
