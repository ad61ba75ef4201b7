#include "runtime/model/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/graph/resident_arena.h"
#include "runtime/math/ops/reduction.h"
#include "runtime/model/bucket_plans.h"
#include "runtime/model/build.h"
#include "runtime/model/feed.h"
#include "runtime/model/initial_values.h"
#include "runtime/model/row_batch.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

std::int64_t tokens_that_count(const Feed& feed) {
  return std::accumulate(feed.lengths.begin(), feed.lengths.end(), std::int64_t{0});
}

// What is good to have on a device, so many arenas of it: false where there is too little room.
bool is_reserved(const DeviceMemory& memory, std::size_t arenas,
                 const std::function<void()>& take) {
  if (arenas > 0 && !memory.has_room_for(arenas)) return false;
  try {
    take();
    return true;
  } catch (const DeviceFailed&) {
    require_sound(memory.device());
    return false;
  }
}

}  // namespace

std::map<std::string, double> means_of(std::span<const Metric> metrics, const BatchResult& sums,
                                       const std::string& prefix) {
  std::map<std::string, double> values;
  if (sums.examples < 1 || sums.denominator < 1) return values;
  const auto denominator = static_cast<double>(sums.denominator);
  const double loss = sums.loss_sum / denominator;
  values[prefix + "loss"] = loss;
  const auto value_of = [&](Metric::Kind kind, double sum) {
    switch (kind) {
      case Metric::Kind::mean:
      case Metric::Kind::recall: return sum / static_cast<double>(sums.examples);
      case Metric::Kind::mean_as_loss: return sum / denominator;
      case Metric::Kind::exp_of_loss:
      case Metric::Kind::area: break;
    }
    return std::exp(loss);
  };
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].kind == Metric::Kind::area) continue;
    values[prefix + metrics[i].name] = value_of(metrics[i].kind, sums.metrics[i]);
  }
  return values;
}

struct Model::Parts {
  std::vector<model::Start> initial;
  std::uint64_t seed;
  RowLayout rows;
  std::vector<RowSource> sources;
  double flops = 0;           // of the gradients since take_step_flops()
  std::int64_t examples = 0;  // of them
  NodeId loss;
  MeanOver mean_over;
  std::vector<Metric> metrics;
  std::vector<NodeId> metric_nodes;
  std::vector<std::vector<NodeId>> watched;
  ThreadTeam team;
  bool is_on_device;
  BucketPlans plans;
  const Executor* newest = nullptr;  // which computed the batch before

  // What buckets have in common is that of the first, the longest.
  Parts(std::vector<BuiltModel> built, const ModelSetting& setting)
      : initial(std::move(built.front().builder.initial)),
        seed(setting.seed),
        rows(std::move(built.front().builder.rows)),
        sources(std::move(built.front().builder.sources)),
        loss(built.front().loss),
        mean_over(built.front().mean_over),
        metrics(std::move(built.front().metrics)),
        metric_nodes(built.front().metric_nodes),  // the plans keep these values, and the next
        watched(built.front().watched),
        team(setting.team),
        is_on_device(setting.device != nullptr),
        plans(std::move(built), setting.batch_size, team, setting.device) {}

  BatchResult forward(Executor& executor, const ParameterPlace& parameters, const Feed& feed,
                      Pass pass, const std::function<void(std::size_t)>& on_need = {}) {
    executor.forward(parameters, feed, pass, on_need);
    newest = &executor;
    BatchResult result{.examples = feed.examples, .denominator = feed.examples};
    if (mean_over == MeanOver::tokens) result.denominator = tokens_that_count(feed);
    result.loss_sum = sum_in_double(executor.value(loss).span());
    for (std::size_t i = 0; i < metric_nodes.size(); ++i) {
      result.metrics[i] = sum_in_double(executor.value(metric_nodes[i]).span());
    }
    return result;
  }
};

Result<Model> Model::build(const model::Written& written, const DataShape& data,
                           const ModelSetting& setting) {
  if (setting.batch_size < 1) {
    return invalid("training.batch_size must be 1 or more, got " +
                   std::to_string(setting.batch_size));
  }
  TRY_ASSIGN(std::vector<BuiltModel> built, build_bucket_graphs(written, data));
  const std::int64_t most = built.front().examples_max;
  if (most > 0 && setting.batch_size > most) {
    return invalid(
        "training: in_batch_softmax compares each example of a micro-batch with each "
        "other: " +
        std::to_string(most) + " at most, got " + std::to_string(setting.batch_size));
  }
  return Model(std::make_unique<Parts>(std::move(built), setting));
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::span<const Variable> Model::variables() const { return parts_->plans.graph().variables(); }

MeanOver Model::mean_over() const { return parts_->mean_over; }

std::span<const Metric> Model::metrics() const { return parts_->metrics; }

std::vector<ConstTensor> Model::watched(std::size_t metric) const {
  std::vector<ConstTensor> values;
  ENSURE(parts_->newest != nullptr);
  for (const NodeId node : parts_->watched[metric]) values.push_back(parts_->newest->value(node));
  return values;
}

double Model::take_step_flops() {
  const double flops = std::exchange(parts_->flops, 0);
  const std::int64_t examples = std::exchange(parts_->examples, 0);
  return examples > 0 ? flops / static_cast<double>(examples) : 0;
}

Threads Model::threads() const { return parts_->team; }

bool Model::is_on_device() const { return parts_->is_on_device; }

bool Model::adds_up(std::int64_t leaves) {
  const auto& memory = parts_->plans.memory();
  if (memory == nullptr || !parts_->rows.empty()) return false;
  return is_reserved(*memory, memory->sums().needs(leaves),
                     [&] { memory->sums().reserve(leaves); });
}

bool Model::converts_bfloat16() {
  const auto& memory = parts_->plans.memory();
  if (memory == nullptr) return false;
  return is_reserved(*memory, 1, [&] { memory->halves(); });
}

std::unique_ptr<ResidentArena> Model::reside(std::span<const float> weights,
                                             std::span<const AlignedBuffer> slots) {
  const auto& memory = parts_->plans.memory();
  if (memory == nullptr || !parts_->rows.empty()) return nullptr;
  std::unique_ptr<ResidentArena> arena;
  is_reserved(*memory, 1 + slots.size(),
              [&] { arena = std::make_unique<ResidentArena>(memory, weights, slots); });
  return arena;
}

const RowLayout& Model::rows() const { return parts_->rows; }

RowBatch Model::row_batch() const { return {RowWidths(parts_->rows), parts_->sources}; }

std::int64_t Model::arena_elements() const { return parts_->plans.graph().arena_elements(); }

void Model::initialize(std::uint64_t seed, std::span<float> parameters) const {
  ENSURE(std::ssize(parameters) == arena_elements());
  std::ranges::fill(parameters, 0.0F);
  std::uint32_t index = 0;
  for (const Variable& variable : variables()) {
    const auto range = parameters.subspan(static_cast<std::size_t>(variable.offset),
                                          static_cast<std::size_t>(variable.elements));
    set_initial_values(parts_->initial[index], seed, index, variable.shape, range);
    ++index;
  }
}

BatchResult Model::gradient(const ParameterPlace& parameters, const Batch& batch,
                            std::span<float> gradients, const GradientCallbacks& news,
                            RowBatch* rows) {
  ENSURE((rows != nullptr) == !parts_->rows.empty());
  if (rows != nullptr) rows->clear_gradients();
  const Feed feed = feed_of(batch, rows, parts_->seed);
  Executor& executor = parts_->plans.of(batch);
  parts_->flops += static_cast<double>(parts_->plans.step_flops(batch) * batch.examples);
  parts_->examples += batch.examples;
  const BatchResult result = parts_->forward(executor, parameters, feed, Pass::train, news.on_need);
  if (news.on_result) news.on_result(result);
  if (news.leaf || !news.bfloat16.empty()) {
    executor.backward(feed, {.arena = gradients, .bfloat16 = news.bfloat16}, news.on_final,
                      news.leaf.value_or(LeafOfNode{}));
    return result;
  }
  executor.backward(parameters.arena, feed, gradients, news.on_final,
                    news.parameters_stay ? Executor::Parameters::stay
                                         : Executor::Parameters::may_change_when_final,
                    news.on_final_from);
  return result;
}

BatchResult Model::evaluate(const ParameterPlace& parameters, const Batch& batch, RowBatch* rows) {
  ENSURE((rows != nullptr) == !parts_->rows.empty());
  const Feed feed = feed_of(batch, rows, parts_->seed);
  return parts_->forward(parts_->plans.of(batch), parameters, feed, Pass::evaluate);
}

}  // namespace trainyard::runtime
