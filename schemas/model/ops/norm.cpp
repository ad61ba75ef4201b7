// Normalisations, and the check that batch norm has something to take a variance of.
#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

constexpr Start ones{StartKind::constant, 1};

void adds_scale_and_offset(LayerScribe& layer, std::int64_t channels) {
  if (layer.given().flag("scale")) layer.adds_fixed("scale", {channels}, ones);
  if (layer.given().flag("offset")) layer.adds_fixed("offset", {channels}, {});
}

// How many values of a channel one example has.
Count places(const Sizes& shape) { return elements(Sizes(shape.begin(), shape.end() - 1)); }

// [.., channels], each channel over the examples of a micro-batch and all axes but the last.
void batch_norm(LayerScribe& layer) {
  const bool has_channels = layer.has_rank(0, 1, rank_max, "[.., channels]");
  const std::int64_t channels = layer.last_size(0);
  adds_scale_and_offset(layer, channels);
  layer.adds_fixed("mean", {channels}, {}, VariableRole::state);
  layer.adds_fixed("variance", {channels}, ones, VariableRole::state);
  layer.costs().keeps(Kept::input);
  layer.costs().keeps_bytes(
      times(8, known(channels)));  // mean and 1/sigma: of a leaf, not of an example
  if (!has_channels) return;
  layer.needs_values_in_micro_batch(places(*layer.shape(0)));
  layer.gives(layer.shape(0));
}

// Over the last axis of each place.
void layer_norm(LayerScribe& layer) {
  const bool has_channels = layer.has_rank(0, 1, rank_max, "[.., channels]");
  adds_scale_and_offset(layer, layer.last_size(0));
  layer.costs().keeps(Kept::input);
  if (!has_channels) return;
  layer.costs().keeps_bytes(times(8, places(*layer.shape(0))));
  layer.gives(layer.shape(0));
}

// [.., channels]: over all axes but the last, and over the channels of a group.
void group_norm(LayerScribe& layer) {
  const bool has_channels = layer.has_rank(0, 2, rank_max, "[.., channels]");
  const std::int64_t channels = layer.last_size(0);
  const Count groups = layer.given().integer("groups");
  adds_scale_and_offset(layer, channels);
  layer.costs().keeps(Kept::input);
  layer.costs().keeps_bytes(times(8, groups));
  if (!has_channels) return;
  if (groups && is_known(channels) && channels % *groups != 0) {
    layer.fault("groups", "group_norm: the " + std::to_string(channels) + " channels of " +
                              layer.input_name(0) + " are no multiple of " +
                              std::to_string(*groups) + " groups");
  }
  layer.gives(layer.shape(0));
}

// x / max(|x|, 1e-12) over the last axis.
void l2_normalize(LayerScribe& layer) {
  layer.costs().keeps(Kept::input);
  if (!layer.has_rank(0, 1, rank_max, "[.., features]")) return;
  layer.costs().keeps_bytes(times(4, places(*layer.shape(0))));
  layer.gives(layer.shape(0));
}

}  // namespace

std::vector<OpRule> norm_ops() {
  const ArgumentRule epsilon = number_or("epsilon", 1e-5, 1e-12, 1);
  ArgumentRule groups = integer_or("groups", 1, 1, size_max);
  groups.is_required = true;
  return {
      {.name = "batch_norm",
       .arguments = {number_or("momentum", 0.1, 1e-6, 1), epsilon, flag_or("scale", true),
                     flag_or("offset", true)},
       .infer = batch_norm},
      {.name = "layer_norm",
       .arguments = {epsilon, flag_or("scale", true), flag_or("offset", true)},
       .infer = layer_norm},
      {.name = "rms_norm", .arguments = {epsilon, flag_or("scale", true)}, .infer = layer_norm},
      {.name = "group_norm",
       .arguments = {groups, epsilon, flag_or("scale", true), flag_or("offset", true)},
       .infer = group_norm},
      {.name = "l2_normalize", .infer = l2_normalize},
  };
}

}  // namespace trainyard::model
