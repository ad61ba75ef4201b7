// Which layers' lengths are the data set's, and which models of sequences cannot be trained yet.
#include <catch2/catch.hpp>

#include "runtime/model/build.h"
#include "schemas/model/analysis.h"
#include "schemas/model/data_time.h"
#include "schemas/model/trainable.h"

namespace trainyard::runtime::sequence_layers_tests {
namespace {

model::Layer layer(const char* op, model::Arguments arguments = {}) {
  return {.what = model::OpLayer{op}, .arguments = std::move(arguments)};
}

// Numbers of 8 steps, or tokens of so many.
model::Facts facts(model::ElementKind kind) {
  const bool is_id = kind == model::ElementKind::id;
  model::Field field{.name = "x", .shape = model::Sizes{8}, .kind = kind};
  if (is_id) {
    field.ids = 30;
  } else {
    field.shape->push_back(6);
  }
  return {
      .dataset = "d", .fields = {field}, .label_kind = model::LabelKind::class_index, .classes = 3};
}

model::Facts symbols() {
  model::Facts made = facts(model::ElementKind::number);
  made.label_kind = model::LabelKind::symbols;
  made.classes = {};
  made.symbols = 5;
  return made;
}

// Whether the lengths count at the last of the layers.
bool follows(const model::Layers& layers, model::ElementKind kind = model::ElementKind::number) {
  const model::Model model{.layers = layers, .losses = {{.op = "softmax_cross_entropy"}}};
  const model::Analysis analysis = model::analyse(model, facts(kind), {});
  return model::follows_data_time(analysis, analysis.layers.size() - 1);
}

std::vector<std::string> refusals(const model::Model& model, const model::Facts& known) {
  const model::Written written = model;
  const model::Analysis analysis = model::analyse(written, known, {});
  for (const Fault& fault : analysis.faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  REQUIRE(analysis.faults.empty());
  std::vector<std::string> messages;
  for (const Fault& fault : model::not_trainable_yet(written, analysis, "/model")) {
    messages.push_back(fault.message);
  }
  return messages;
}

const model::Layer all_steps = layer("lstm", {{"units", 4}, {"output", "all"}});
const model::Layer scores = layer("dense", {{"units", 5}});

}  // namespace

TEST_CASE("lengths count where a value's steps are the data set's, one for one", "[model]") {
  const auto embedding = layer("embedding", {{"size", 6}});
  CHECK(follows({layer("dropout", {{"rate", 0.5}})}));
  CHECK(follows({all_steps, layer("gru", {{"units", 2}, {"output", "all"}}), scores}));
  CHECK(follows({layer("conv1d", {{"filters", 4}, {"kernel", 3}, {"padding", "same"}})}));
  CHECK(follows({embedding, all_steps}, model::ElementKind::id));
  CHECK(follows({layer("slice", {{"axis", 1}, {"begin", 2}, {"size", 3}})}));
  CHECK(follows({layer("attention", {{"heads", 2}}), all_steps}));
  CHECK_FALSE(follows({layer("slice", {{"axis", 0}, {"begin", 1}})}));
  CHECK_FALSE(follows({layer("conv1d", {{"filters", 4}, {"kernel", 3}})}));
  CHECK_FALSE(follows({layer("lstm", {{"units", 8}})}));
  CHECK_FALSE(follows({layer("transpose", {{"axes", model::Value::List{1, 0}}})}));
  CHECK_FALSE(follows({layer("reshape", {{"shape", model::Value::List{8, 3, 2}}}),
                       layer("reshape", {{"shape", model::Value::List{8, 6}}}), all_steps}));
}

TEST_CASE("CTC and its metrics train where they read one value", "[model]") {
  const model::Model both{.layers = {all_steps, scores},
                          .losses = {{.op = "ctc"}},
                          .metrics = {{.op = "edit_distance"}, {.op = "sequence_accuracy"}}};
  CHECK(refusals(both, symbols()).empty());
  REQUIRE(build_graph(model::Written(both), symbols()));

  model::Model twice = both;
  twice.metrics.push_back({.op = "edit_distance"});
  CHECK(refusals(twice, symbols()) == std::vector<std::string>{"is a second \"edit_distance\""});

  model::Model other = both;
  other.layers.front().name = "below";
  other.metrics.front().in = {"below"};
  CHECK(refusals(other, symbols()) ==
        std::vector<std::string>{"edit_distance of a layer that no ctc reads is not in "
                                 "this version yet"});
}

TEST_CASE("an embedding may lie on the ps", "[model]") {
  const model::Facts ids = facts(model::ElementKind::id);
  const model::Layer table = layer("embedding", {{"size", 4}, {"storage", "rows"}});
  model::Model rows{
      .layers = {table, layer("lstm", {{"units", 4}}), layer("dense", {{"units", 3}})},
      .losses = {{.op = "softmax_cross_entropy"}}};
  CHECK(refusals(rows, ids).empty());
  rows.layers.front() = layer("embedding", {{"size", 4}});
  CHECK(refusals(rows, ids).empty());
}

TEST_CASE("a loss for each token is the mean over tokens, where all losses are", "[model]") {
  model::Facts tokens = facts(model::ElementKind::id);
  tokens.label_kind = model::LabelKind::tokens;
  tokens.classes = {};
  tokens.vocabulary = 30;
  const model::Term of_tokens{.op = "softmax_cross_entropy", .arguments = {{"per", "token"}}};
  model::Model next{
      .layers = {layer("embedding", {{"size", 4}}), all_steps, layer("dense", {{"units", 30}})},
      .losses = {of_tokens},
      .metrics = {{.op = "perplexity"}, {.op = "accuracy"}}};
  CHECK(refusals(next, tokens).empty());
  const auto built = build_graph(model::Written(next), tokens);
  REQUIRE(built);
  CHECK(built->mean_over == MeanOver::tokens);
  CHECK(built->metrics[1].kind == Metric::Kind::mean_as_loss);

  model::Model both = next;
  both.metrics.clear();
  both.losses.push_back({.op = "softmax_cross_entropy"});
  CHECK(refusals(both, tokens) ==
        std::vector<std::string>{
            "a loss for each token beside one for each example is not in this version yet"});

  model::Model of_examples = next;
  of_examples.losses = {{.op = "softmax_cross_entropy"}};
  CHECK(refusals(of_examples, tokens) ==
        std::vector<std::string>{
            "perplexity of a loss for each example says nothing of tokens: let the loss have "
            "\"per\": \"token\"",
            "accuracy of tokens that no loss for each token reads is not in this version yet"});
  of_examples.metrics.clear();
  CHECK(refusals(of_examples, tokens).empty());

  next.metrics = {{.op = "top_k", .arguments = {{"k", 3}}}};
  CHECK(refusals(next, tokens) ==
        std::vector<std::string>{"top_k for each token is not in this version yet"});
}

TEST_CASE("a loss for each token needs scores for each token of the data", "[model]") {
  model::Facts tokens = facts(model::ElementKind::id);
  tokens.label_kind = model::LabelKind::tokens;
  tokens.classes = {};
  tokens.vocabulary = 30;
  const model::Model halved{
      .layers = {layer("embedding", {{"size", 4}}),
                 layer("conv1d", {{"filters", 30}, {"kernel", 3}, {"stride", 2}})},
      .losses = {{.op = "softmax_cross_entropy", .arguments = {{"per", "token"}}}}};
  const model::Analysis analysis = model::analyse(model::Written(halved), tokens, {});
  REQUIRE(analysis.faults.size() == 1);
  CHECK(analysis.faults.front().message.find("tokens, and an example of") != std::string::npos);
}

}  // namespace trainyard::runtime::sequence_layers_tests
