#include "schemas/model/data_time.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "schemas/model/op_rule.h"

namespace trainyard::model {
namespace {

using Catch::Matchers::Contains;

Layer of_steps(const char* op, Arguments arguments = {}) {
  return {.what = OpLayer{op}, .arguments = std::move(arguments)};
}

// What stands in the way of buckets for tokens through an embedding, these layers, and scores.
std::string bucket_faults(Layers layers) {
  layers.insert(layers.begin(), of_steps("embedding", {{"size", 8}}));
  const Facts facts{
      .dataset = "d",
      .fields = {{.name = "tokens", .shape = Sizes{8}, .kind = ElementKind::id, .ids = 30}},
      .label_kind = LabelKind::class_index,
      .classes = 3,
      .vocabulary = 30};
  const Model model{.layers = std::move(layers), .losses = {{.op = "softmax_cross_entropy"}}};
  const Analysis analysis = analyse(model, facts, {});
  for (const Fault& fault : analysis.faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  REQUIRE(analysis.faults.empty());
  std::string text;
  for (const Fault& fault : faults_of_buckets(analysis, "/dataset/buckets")) {
    CHECK(fault.pointer == "/dataset/buckets");
    text += fault.message + "\n";
  }
  return text;
}

const Layer bucket_scores = of_steps("dense", {{"units", 3}});

}  // namespace

TEST_CASE("what reads an example's own steps alone is the same in every bucket", "[model]") {
  const Layer last = of_steps("lstm", {{"units", 4}});
  CHECK(bucket_faults({last, bucket_scores}).empty());
  CHECK(
      bucket_faults({of_steps("gru", {{"units", 4}, {"output", "all"}, {"direction", "both"}}),
                     of_steps("dropout", {{"rate", 0.5}}), of_steps("prelu"), last, bucket_scores})
          .empty());
  CHECK(bucket_faults({of_steps("positions"), of_steps("layer_norm"),
                       of_steps("attention", {{"heads", 2}}), of_steps("rope", {{"heads", 2}}),
                       of_steps("slice", {{"axis", 0}, {"begin", 0}, {"size", 1}}),
                       of_steps("flatten"), bucket_scores})
            .empty());
}

TEST_CASE("an op that gives its sequence's shape keeps its steps, or is known to mix them",
          "[model]") {
  const Facts facts{.dataset = "d", .fields = {{.name = "x", .shape = Sizes{6, 8}}}};
  constexpr std::array<std::string_view, 3> mixing{"batch_norm", "group_norm", "pad"};
  int kept = 0;
  for (const OpRule& rule : ops()) {
    const bool mixes = std::ranges::find(mixing, rule.name) != mixing.end();
    if (mixes || rule.inputs_least > 2 || rule.layers > 1) continue;
    INFO(rule.name);
    Layer layer = of_steps("none");
    layer.what = OpLayer{std::string(rule.name)};
    layer.in.assign(rule.inputs_least, "x");
    const Model model{.layers = {layer}, .losses = {{.op = "squared_error"}}};
    const Analysis analysis = analyse(model, facts, {});
    // What has arguments that it needs is at fault here.
    if (analysis.layers.size() != 2 || analysis.layers[1].shape != Sizes{6, 8}) continue;
    CHECK(follows_data_time(analysis, 1));
    ++kept;
  }
  CHECK(kept >= 30);
}

TEST_CASE("what sees the padding behind an example has no buckets", "[model]") {
  CHECK_THAT(bucket_faults(
                 {of_steps("reduce", {{"kind", "mean"}, {"axes", Value::List{0}}}), bucket_scores}),
             Contains("\"reduce_0\" (reduce) sees the padding"));
  CHECK_THAT(bucket_faults({of_steps("flatten"), bucket_scores}), Contains("flatten_0"));
  CHECK_THAT(
      bucket_faults({of_steps("conv1d", {{"filters", 4}, {"kernel", 3}, {"padding", "same"}}),
                     of_steps("lstm", {{"units", 4}}), bucket_scores}),
      Contains("conv1d_0"));
  CHECK_THAT(bucket_faults({of_steps("slice", {{"axis", 0}, {"begin", 7}, {"size", 1}}),
                            of_steps("flatten"), bucket_scores}),
             Contains("slice_0"));
  CHECK_THAT(
      bucket_faults({of_steps("batch_norm"), of_steps("lstm", {{"units", 4}}), bucket_scores}),
      Contains("batch_norm_0"));
}

}  // namespace trainyard::model
