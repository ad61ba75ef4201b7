// Transformers with the norm ahead of each layer: GPT (Radford et al. 2019) and a classifier.
#include <cmath>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

constexpr double deviation_of_weights = 0.02;

Value normal(double deviation) { return Value::Object{{"name", "normal"}, {"stddev", deviation}}; }

// The layers that end a residual start smaller, the more residuals add up: two a block. Of three
// digits, so that the text stays short.
Value residual_init(std::int64_t depth) {
  const double exact = deviation_of_weights / std::sqrt(2.0 * static_cast<double>(depth));
  const double unit = std::pow(10.0, std::floor(std::log10(exact)) - 2);
  return from("depth", normal(std::round(exact / unit) * unit));
}

bool drops(const ZooArguments& arguments) { return arguments.number("dropout") > 0; }

// The argument by its name in "define", so that one number is written once.
Value defined(const char* argument, const char* name) { return from(argument, name); }

void add_defined_dropout(Layers& layers, const ZooArguments& arguments) {
  if (drops(arguments)) layers.push_back(op("dropout", {{"rate", defined("dropout", "$p")}}));
}

std::vector<Definition> definitions(const ZooArguments& arguments) {
  const std::int64_t width = arguments.integer("width");
  constexpr std::int64_t expansion = 4;
  const std::int64_t mlp = arguments.is_given("mlp") ? arguments.integer("mlp") : expansion * width;
  std::vector<Definition> define{{"d", static_cast<double>(width)},
                                 {"depth", arguments.number("depth")},
                                 {"heads", arguments.number("heads")},
                                 {"mlp", static_cast<double>(mlp)}};
  if (drops(arguments)) define.push_back({"p", arguments.number("dropout")});
  return define;
}

enum class Mask { none, causal };

Layers embeddings(const ZooArguments& arguments) {
  Layers layers{named("wte", op("embedding", {{"size", defined("width", "$d")}})),
                named("wpe", op("positions"))};
  add_defined_dropout(layers, arguments);
  return layers;
}

Layer attention(const ZooArguments& arguments, Mask mask) {
  Layer layer = op("attention", {{"heads", defined("heads", "$heads")}});
  if (mask == Mask::causal) layer.arguments.push_back({"causal", true});
  if (drops(arguments)) layer.arguments.push_back({"dropout", defined("dropout", "$p")});
  layer.arguments.push_back({"output_init", residual_init(arguments.integer("depth"))});
  return layer;
}

Layer blocks(const ZooArguments& arguments, Mask mask) {
  Layers attending{op("layer_norm"), attention(arguments, mask)};
  add_defined_dropout(attending, arguments);
  Layers thinking{op("layer_norm"), dense_layer(defined("mlp", "$mlp"), "gelu_tanh"),
                  op("dense", {{"units", defined("width", "$d")},
                               {"init", residual_init(arguments.integer("depth"))}})};
  add_defined_dropout(thinking, arguments);
  Layer all = named("h", repeat(defined("depth", "$depth"),
                                {residual(std::move(attending)), residual(std::move(thinking))}));
  if (arguments.flag("recompute")) all.arguments.push_back({"recompute", true});
  return all;
}

Model gpt(const ZooArguments& arguments, const Facts&) {
  Layers layers = embeddings(arguments);
  layers.push_back(blocks(arguments, Mask::causal));
  layers.push_back(op("layer_norm"));
  Layer head = op("dense", {{"units", "vocabulary"}, {"bias", false}});
  if (arguments.flag("tie")) head.arguments.push_back({"tie", from("tie", "wte")});
  layers.push_back(std::move(head));
  return {.define = definitions(arguments),
          .init = normal(deviation_of_weights),
          .layers = std::move(layers),
          .losses = {{.op = "softmax_cross_entropy", .arguments = {{"per", "token"}}}},
          .metrics = {{.op = "perplexity"}}};
}

Model transformer_classifier(const ZooArguments& arguments, const Facts&) {
  Layers layers = embeddings(arguments);
  layers.push_back(blocks(arguments, Mask::none));
  layers.push_back(op("layer_norm"));
  layers.push_back(op("reduce", {{"kind", "mean"}, {"axes", Value::List{0}}}));
  layers.push_back(dense_layer("classes"));
  return {.define = definitions(arguments),
          .init = normal(deviation_of_weights),
          .layers = std::move(layers),
          .losses = {classification_loss(arguments)},
          .metrics = {{.op = "accuracy"}}};
}

struct Size {
  int width = 128;
  int heads = 4;
  int depth = 4;
  bool recompute = false;
};

// Of all transformers. "mlp" without a default is four times the width.
std::vector<ZooArgument> transformer_arguments(const Size& size) {
  constexpr double heads_max = 256;
  constexpr double depth_max = 256;
  ZooArgument mlp = integer_argument(
      "mlp", "Width within a block's dense layers; four times the width by default", 1, width_max);
  mlp.standard = "";
  return {integer_argument("width", "Numbers for each token between the blocks", size.width, 16384),
          integer_argument("heads", "Of attention; they divide the width", size.heads, heads_max),
          integer_argument("depth", "Blocks, one above another", size.depth, depth_max),
          std::move(mlp),
          rate_argument("dropout", "Of embeddings, of attention and behind each layer", 0.1),
          flag_argument("recompute",
                        "Values of a block are computed again for the backward pass, not kept",
                        size.recompute)};
}

std::vector<ZooArgument> gpt_arguments(const Size& size) {
  std::vector<ZooArgument> arguments = transformer_arguments(size);
  arguments.push_back(flag_argument("tie", "The head is the embedding, transposed", true));
  return arguments;
}

}  // namespace

void add_transformers(std::vector<ZooModel>& models) {
  models.push_back({.name = "gpt",
                    .description = "A language model: a transformer that sees what came before",
                    .arguments = gpt_arguments({}),
                    .facts = {"vocabulary"},
                    .make = gpt});
  models.push_back(
      {.name = "gpt2_small",
       .description = "The gpt of 124 million parameters",
       .arguments = gpt_arguments({.width = 768, .heads = 12, .depth = 12, .recompute = true}),
       .facts = {"vocabulary"},
       .make = gpt});
  std::vector<ZooArgument> arguments = transformer_arguments({.depth = 2});
  arguments.push_back(label_smoothing_argument(0));
  models.push_back({.name = "transformer_classifier",
                    .description = "A transformer that sees the whole text, and a class for it",
                    .arguments = std::move(arguments),
                    .facts = {"vocabulary", "classes"},
                    .make = transformer_classifier});
}

}  // namespace trainyard::model
