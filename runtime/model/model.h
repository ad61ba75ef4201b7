// A model: a static graph with known shapes over one flat arena of parameters. The same layout
// holds for gradients and optimizer slots, so that placement, transport and checkpoints speak of
// ranges and never of layers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "runtime/core/row_layout.h"
#include "runtime/core/variable.h"
#include "runtime/data/dataset.h"
#include "runtime/graph/device_sums.h"
#include "runtime/graph/ops/source.h"
#include "runtime/graph/parameter_place.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"
#include "schemas/base/result.h"
#include "schemas/model/written.h"

namespace trainyard::runtime {

// Sums over a batch, so that batches of unequal size add up exactly.
struct BatchResult {
  double loss_sum = 0;
  MetricSums metrics = {};  // of Model::metrics(), in their order
  std::int64_t examples = 0;
  std::int64_t denominator = 0;  // as in BatchSums

  BatchResult& operator+=(const BatchResult& more) {
    loss_sum += more.loss_sum;
    add_to(metrics, more.metrics);
    examples += more.examples;
    denominator += more.denominator;
    return *this;
  }
};

// What a model measures beside its loss.
struct Metric {
  std::string name;  // "accuracy", "top_5"
  // What is reported: the mean of its sums over examples, or over what the loss is the mean of, or
  // e to the mean loss. Of a test split (split_metrics.h) the area under the ROC curve, which
  // training does not report, and the recall among all items, where training reports the mean of
  // that in each batch.
  enum class Kind { mean, mean_as_loss, exp_of_loss, area, recall } kind = Kind::mean;
  // Recall: among how many, and the fields of ids that tell users and items apart; none: their
  // vectors do.
  std::int64_t k = 0;
  std::array<std::vector<IdField>, 2> tower_ids{};
};

// By name, each under `prefix` and its name: "loss", the mean, and the metrics.
std::map<std::string, double> means_of(std::span<const Metric> metrics, const BatchResult& sums,
                                       const std::string& prefix = "");

class Device;
class ResidentArena;
class RowBatch;

// What is told of a gradient while it is computed; each may be empty.
struct GradientCallbacks {
  // The parameters of variables()[i] are read next: from the first layer to the last, a variable
  // that several layers share once for each.
  std::function<void(std::size_t)> on_need;
  std::function<void(const BatchResult&)> on_result;  // before the first gradient is there
  // The gradient of variables()[i] is final: from the last layer to the first.
  std::function<void(std::size_t)> on_final;
  // Before that, of a large one and if parameters stay: its elements from here on are. What the
  // same layer has beside it may be told more than once.
  std::function<void(std::size_t, std::int64_t)> on_final_from = {};
  // Of a node whose leaves adds_up() had room for: they are added where they are computed, and come
  // to the host with the last one, of which alone on_final is called.
  std::optional<LeafOfNode> leaf = {};
  // Where gradients go rounded once converts_bfloat16() has said yes, as in GradientPlace.
  std::span<std::uint16_t> bfloat16 = {};
  // All parameters stay as they are until the gradient is whole; else they may change as soon as
  // theirs is final, which is told later then.
  bool parameters_stay = false;
};

struct ModelSetting {
  std::int64_t batch_size = 0;  // the largest batch it is ever given
  std::uint64_t seed = 0;       // of what is drawn in training
  TeamSetting team = {};        // of threads that compute together: no bit depends on it
  Device* device = nullptr;     // that computes; it lives longer. None: the CPU
};

class Model {
 public:
  // `invalid` where model and data do not fit together. Where a device has too little memory, this
  // or a later call throws DeviceFailed.
  static Result<Model> build(const model::Written& written, const DataShape& data,
                             const ModelSetting& setting);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] std::span<const Variable> variables() const;
  // Who computes it; others may be given work while it computes nothing.
  [[nodiscard]] Threads threads() const;
  [[nodiscard]] bool is_on_device() const;  // which computes it, not these threads

  [[nodiscard]] std::int64_t arena_elements()
      const;  // with the padding between variables, which stays zero

  [[nodiscard]] MeanOver mean_over() const;  // its loss
  [[nodiscard]] std::span<const Metric> metrics() const;
  // What metrics()[metric] reads, of the batch that was computed last: of area the scores, of
  // recall users and items.
  [[nodiscard]] std::vector<ConstTensor> watched(std::size_t metric) const;

  // What products cost in a step, forward and backward, a multiplication and an addition being two:
  // for an example, in the mean of the gradients since the last call, as texts of several buckets
  // cost more or less. 0 = not known, or there was none.
  double take_step_flops();

  // From now on, where gradient() and evaluate() are given `weights`, they compute with a copy of
  // them that lives on the device with these slots, and gradients stay there. Null where a CPU
  // computes, where the model has tables of rows, and where the device has too little memory for
  // it. It goes before the model.
  std::unique_ptr<ResidentArena> reside(std::span<const float> weights,
                                        std::span<const AlignedBuffer> slots);

  // Whether the gradients of so many leaves can be added where they are computed, on its device:
  // then `leaf` may be given.
  bool adds_up(std::int64_t leaves);
  // Whether it has room to round numbers, and to take rounded ones, where it computes: then
  // `bfloat16` may be given, and parameters that lie so.
  bool converts_bfloat16();

  // The rows of its embedding tables, which are not in the arena; empty = it has none.
  [[nodiscard]] const RowLayout& rows() const;
  // For the rows of one batch after another.
  [[nodiscard]] RowBatch row_batch() const;

  // The same bytes on every host for one seed.
  void initialize(std::uint64_t seed, std::span<float> parameters) const;

  // The gradient of the *sum* of the batch's losses, into `gradients` (overwritten, whole arena).
  // `rows`: where the model has a table, the batch's rows, which receive their gradients.
  BatchResult gradient(const ParameterPlace& parameters, const Batch& batch,
                       std::span<float> gradients, const GradientCallbacks& news = {},
                       RowBatch* rows = nullptr);
  BatchResult evaluate(const ParameterPlace& parameters, const Batch& batch,
                       RowBatch* rows = nullptr);

 private:
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard::runtime
