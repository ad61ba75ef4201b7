#include "runtime/graph/cpu/norm.h"

#include "runtime/graph/cpu/room.h"
#include "runtime/math/ops/norm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Of a call's inputs.
std::size_t place_of_offset(const NormInputs& has) { return has.scale ? 2 : 1; }
std::size_t place_of_mean(const NormInputs& has) { return 1 + has.count(); }

Scaling scaling_in(const NormInputs& has, std::span<const ConstTensor> inputs) {
  return {.scale = has.scale ? inputs[1] : ConstTensor{},
          .offset = has.offset ? inputs[place_of_offset(has)] : ConstTensor{}};
}

ScalingGradients scaling_gradients_in(const NormInputs& has,
                                      std::span<const GradientTarget> targets) {
  const GradientTarget scale = has.scale ? targets[1] : GradientTarget{};
  const GradientTarget offset = has.offset ? targets[place_of_offset(has)] : GradientTarget{};
  const bool has_both = scale.into.data != nullptr && offset.into.data != nullptr;
  ENSURE(!has_both || scale.write == offset.write);  // a layer is shared as a whole
  return {.scale = scale.into,
          .offset = offset.into,
          .write = scale.into.data != nullptr ? scale.write : offset.write};
}

// What is kept of a batch: means, and behind them variances or 1 / standard deviations.
template <class T>
struct Kept {
  View<T> mean;
  View<T> spread;
};

template <class T>
Kept<T> kept_in(const View<T>& saved, const Shape& each) {
  return {.mean = {saved.data, each}, .spread = {saved.data + each.elements(), each}};
}

Shape channels_of(const Shape& x) { return {x.columns()}; }
Shape rows_of(const Shape& x) { return {x.rows()}; }
Shape groups_of(const GroupNormOp& op, const Shape& x) { return {x[0], op.groups}; }

RowNormForward row_norm(const NormInputs& has, double epsilon, const ForwardCall& call) {
  return {.x = call.inputs[0],
          .scaling = scaling_in(has, call.inputs),
          .epsilon = static_cast<float>(epsilon),
          .y = call.output,
          .mean = {},
          .inverse = {},
          .threads = call.threads};
}

RowNormGradient row_norm_gradient(const NormInputs& has, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  return {.x = call.inputs[0],
          .scale = scaling_in(has, call.inputs).scale,
          .mean = {},
          .inverse = {},
          .y_gradient = call.output_gradient,
          .x_gradient = x.into,
          .write = x.write,
          .scaling = scaling_gradients_in(has, call.input_gradients),
          .threads = call.threads};
}

}  // namespace

Needs cpu_needs(const BatchNormOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = 2 * inputs[0].columns()};
}

Needs cpu_needs(const LayerNormOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = 2 * inputs[0].rows()};
}

Needs cpu_needs(const RmsNormOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].rows()};
}

Needs cpu_needs(const GroupNormOp& op, std::span<const Shape> inputs, const Shape&,
                std::int64_t threads) {
  return {.saved = 2 * groups_of(op, inputs[0]).elements(),
          .scratch = elements_for(group_norm_scratch_bytes(inputs[0].columns(), threads))};
}

void run_on_cpu(const BatchNormOp& op, const ForwardCall& call) {
  const Scaling scaling = scaling_in(op.has, call.inputs);
  const auto epsilon = static_cast<float>(op.epsilon);
  if (call.pass == Pass::evaluate) {
    fixed_norm({.x = call.inputs[0],
                .scaling = scaling,
                .epsilon = epsilon,
                .mean = call.inputs[place_of_mean(op.has)],
                .variance = call.inputs[place_of_mean(op.has) + 1],
                .y = call.output,
                .threads = call.threads});
    return;
  }
  const auto kept = kept_in(call.saved, channels_of(call.inputs[0].shape));
  batch_norm({.x = call.inputs[0],
              .scaling = scaling,
              .epsilon = epsilon,
              .y = call.output,
              .mean = kept.mean,
              .variance = kept.spread,
              .threads = call.threads});
}

void run_on_cpu(const LayerNormOp& op, const ForwardCall& call) {
  const auto kept = kept_in(call.saved, rows_of(call.inputs[0].shape));
  RowNormForward norm = row_norm(op.has, op.epsilon, call);
  norm.mean = kept.mean;
  norm.inverse = kept.spread;
  layer_norm(norm);
}

void run_on_cpu(const RmsNormOp& op, const ForwardCall& call) {
  RowNormForward norm = row_norm(op.has, op.epsilon, call);
  norm.inverse = {call.saved.data, rows_of(call.inputs[0].shape)};
  rms_norm(norm);
}

void run_on_cpu(const GroupNormOp& op, const ForwardCall& call) {
  const auto kept = kept_in(call.saved, groups_of(op, call.inputs[0].shape));
  RowNormForward norm = row_norm(op.has, op.epsilon, call);
  norm.mean = kept.mean;
  norm.inverse = kept.spread;
  group_norm(op.groups, norm, bytes_of(call.scratch));
}

void run_back_on_cpu(const BatchNormOp& op, const BackwardCall& call) {
  const auto kept = kept_in(call.saved, channels_of(call.inputs[0].shape));
  const std::size_t mean_at = place_of_mean(op.has);
  const GradientTarget& mean = call.input_gradients[mean_at];
  const GradientTarget& variance = call.input_gradients[mean_at + 1];
  ENSURE(mean.into.data != nullptr && variance.into.data != nullptr);
  ENSURE(mean.write == variance.write);
  batch_norm_state({.examples = call.feed.examples,
                    .rows = call.inputs[0].shape.rows(),
                    .mean = kept.mean,
                    .variance = kept.spread,
                    .mean_sum = mean.into,
                    .variance_sum = variance.into,
                    .write = mean.write});
  const GradientTarget& x = call.input_gradients[0];
  const ScalingGradients scaling = scaling_gradients_in(op.has, call.input_gradients);
  const bool has_scaling = scaling.scale.data != nullptr || scaling.offset.data != nullptr;
  if (x.into.data == nullptr && !has_scaling) return;
  batch_norm_gradient({.x = call.inputs[0],
                       .scale = scaling_in(op.has, call.inputs).scale,
                       .epsilon = static_cast<float>(op.epsilon),
                       .mean = kept.mean,
                       .variance = kept.spread,
                       .y_gradient = call.output_gradient,
                       .x_gradient = x.into,
                       .write = x.write,
                       .scaling = scaling,
                       .threads = call.threads});
}

void run_back_on_cpu(const LayerNormOp& op, const BackwardCall& call) {
  const auto kept = kept_in(call.saved, rows_of(call.inputs[0].shape));
  RowNormGradient norm = row_norm_gradient(op.has, call);
  norm.mean = kept.mean;
  norm.inverse = kept.spread;
  layer_norm_gradient(norm);
}

void run_back_on_cpu(const RmsNormOp& op, const BackwardCall& call) {
  RowNormGradient norm = row_norm_gradient(op.has, call);
  norm.inverse = {call.saved.data, rows_of(call.inputs[0].shape)};
  rms_norm_gradient(norm);
}

void run_back_on_cpu(const GroupNormOp& op, const BackwardCall& call) {
  const auto kept = kept_in(call.saved, groups_of(op, call.inputs[0].shape));
  RowNormGradient norm = row_norm_gradient(op.has, call);
  norm.mean = kept.mean;
  norm.inverse = kept.spread;
  group_norm_gradient(op.groups, norm, bytes_of(call.scratch));
}

}  // namespace trainyard::runtime
