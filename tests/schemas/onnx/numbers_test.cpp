// Exported models compute what the runtime computes: both on the same weights and examples, the
// export by an interpreter of ONNX in numpy that passes the standard's own cases (check_onnx.py).
#include <catch2/catch.hpp>
#include <set>

#include "schemas/model/ops/activation.h"
#include "tests/environment.h"
#include "tests/schemas/onnx/runtime_case.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace trainyard::onnx {
namespace {

using nlohmann::json;

struct Case {
  const char* name;
  json model;
  json facts;
  Lengths lengths = Lengths::none;
};

json zoo(const char* name, json arguments = json::object()) {
  arguments["name"] = name;
  return arguments;
}

json layers(json list, json loss = "softmax_cross_entropy") {
  return {{"layers", std::move(list)}, {"loss", std::move(loss)}};
}

const json digits{{"image", {28, 28, 1}}, {"classes", 10}};
const json pictures{{"image", {32, 32, 3}}, {"classes", 10}};
const json texts{{"tokens", 9}, {"vocabulary", 30}, {"classes", 3}};
const json series{{"sequence", {9, 5}}, {"classes", 3}};
const json small_image{{"image", {9, 7, 2}}, {"classes", 4}};
const json dense{{"op", "dense"}, {"units", "classes"}};

std::vector<Case> zoo_cases() {
  const json tiny{{"width", 16}, {"heads", 4}, {"depth", 2}};
  return {
      {"linear_regression", zoo("linear_regression"), {{"features", 13}}},
      {"logistic_regression", zoo("logistic_regression"), {{"features", 13}, {"classes", 2}}},
      {"sparse_regression", zoo("logistic_regression"), {{"sparse", 40}, {"classes", 2}}},
      {"softmax_regression", zoo("softmax_regression"), digits},
      {"mlp", zoo("mlp", {{"hidden", {20, 10}}}), digits},
      {"lenet5", zoo("lenet5"), digits},
      {"cifar_cnn", zoo("cifar_cnn", {{"filters", {8, 8}}, {"units", 16}}), pictures},
      {"vgg11", zoo("vgg11", {{"units", 16}}), pictures},
      {"vgg11_norm", zoo("vgg11", {{"units", 16}, {"batch_norm", true}}), pictures},
      {"resnet18", zoo("resnet18", {{"stem", "cifar"}}), {{"image", {8, 8, 3}}, {"classes", 5}}},
      {"resnet34", zoo("resnet34"), {{"image", {33, 34, 3}}, {"classes", 5}}},
      {"resnet50", zoo("resnet50"), {{"image", {32, 32, 3}}, {"classes", 5}}},
      {"lstm_classifier", zoo("lstm_classifier", {{"units", 6}, {"depth", 2}}), texts,
       Lengths::given},
      {"lstm_of_full", zoo("lstm_classifier", {{"units", 6}}), texts},
      {"gru_classifier", zoo("gru_classifier", {{"units", 6}, {"depth", 2}}), texts,
       Lengths::given},
      {"gru_forward", zoo("gru_classifier", {{"units", 6}, {"direction", "forward"}}), texts},
      {"crnn", zoo("crnn", {{"units", 8}}), {{"image", {16, 40, 1}}, {"symbols", 5}}},
      {"transformer_classifier", zoo("transformer_classifier", tiny), texts, Lengths::given},
      {"transformer_of_full", zoo("transformer_classifier", tiny), texts},
      {"gpt", zoo("gpt", tiny), {{"tokens", 12}, {"vocabulary", 30}}},
      {"gpt_untied",
       zoo("gpt", {{"width", 16}, {"heads", 2}, {"depth", 1}, {"tie", false}}),
       {{"tokens", 12}, {"vocabulary", 30}}},
  };
}

// Ops and arguments that no model of the zoo uses.
std::vector<Case> image_cases() {
  const json two_axes = {{{"op", "conv2d"},
                          {"filters", 4},
                          {"kernel", {3, 2}},
                          {"stride", 2},
                          {"padding", "same"},
                          {"activation", "gelu"}},
                         {{"op", "depthwise_conv2d"},
                          {"multiplier", 3},
                          {"kernel", 3},
                          {"padding", "same"},
                          {"dilation", {1, 2}},
                          {"activation", "leaky_relu"}},
                         "prelu",
                         {{"op", "avg_pool2d"}, {"size", 2}, {"padding", "same"}},
                         {{"op", "group_norm"}, {"groups", 3}},
                         "flatten",
                         dense};
  const json places = {
      {{"name", "a"}, {"op", "slice"}, {"axis", 1}, {"begin", 1}, {"size", 3}},
      {{"name", "b"}, {"op", "pad"}, {"before", {1, 0, 0}}, {"after", {0, 2, 0}}, {"value", 0.5}},
      {{"name", "c"}, {"op", "transpose"}, {"axes", {1, -1, 0}}},
      {{"name", "d"}, {"op", "reduce"}, {"kind", "max"}, {"axes", {0}}, {"keep", true}},
      {{"op", "sub"}, {"in", {"c", "d"}}},
      "log_softmax",
      {{"op", "reduce"}, {"axes", {-1}}},
      "flatten",
      dense};
  const json branches = {
      {{"name", "a"}, {"op", "conv2d"}, {"filters", 3}, {"kernel", 1}},
      {{"name", "b"}, {"op", "conv2d"}, {"in", "a"}, {"filters", 2}, {"kernel", 3}, {"padding", 1}},
      {{"name", "c"}, {"op", "concat"}, {"in", {"a", "b"}}},
      {{"op", "batch_norm"}, {"scale", false}, {"offset", false}},
      {{"name", "h"}, {"op", "concat"}, {"in", {"-", "c"}}, {"axis", 0}},
      "softmax",
      {{"op", "global_avg_pool"}},
      {{"op", "layer_norm"}, {"offset", false}},
      dense};
  return {{"two_axes", layers(two_axes), small_image},
          {"places", layers(places), small_image},
          {"branches", layers(branches), small_image}};
}

// Of a value on both sides of zero, or of one above it, each of the layers.
json each_activation() {
  json all = {{{"name", "any"}, {"op", "affine"}, {"in", "-"}, {"scale", 2}},
              {{"name", "above"}, {"op", "softplus"}}};
  json names;
  for (const std::string_view op : model::activation_names()) {
    const bool is_of_above = op == "log" || op == "log1p" || op == "sqrt";
    names.push_back("of_" + std::string(op));
    all.push_back({{"name", names.back()}, {"op", op}, {"in", is_of_above ? "above" : "any"}});
  }
  all.push_back({{"op", "concat"}, {"in", names}});
  all.push_back(dense);
  return all;
}

std::vector<Case> feature_cases() {
  const json activations = {{{"op", "leaky_relu"}, {"slope", 0.2}},
                            {{"op", "elu"}, {"alpha", 0.7}},
                            {{"op", "prelu"}, {"init", -0.3}},
                            "silu",
                            "softplus",
                            "sqrt",
                            "square",
                            "log1p",
                            "gelu_tanh",
                            "exp",
                            "log",
                            "abs",
                            "sigmoid",
                            "l2_normalize",
                            {{"op", "affine"}, {"scale", 3}, {"shift", -1}},
                            {{"op", "clip"}, {"least", -0.8}, {"most", 0.9}},
                            dense};
  const json of_time = {{{"op", "conv1d"},
                         {"filters", 6},
                         {"kernel", 3},
                         {"padding", "same"},
                         {"activation", "tanh"}},
                        "batch_norm",
                        {{"op", "dense"}, {"units", 8}, {"activation", "elu"}},
                        {{"op", "rope"}, {"heads", 2}},
                        "rms_norm",
                        {{"op", "attention"}, {"heads", 2}, {"causal", true}},
                        {{"op", "positions"}, {"length", 20}},
                        {{"op", "rnn"},
                         {"units", 5},
                         {"direction", "backward"},
                         {"activation", "relu"},
                         {"output", "all"}},
                        {{"op", "gru"}, {"units", 4}, {"direction", "backward"}},
                        dense};
  const json two_values = {
      {{"name", "m"}, {"op", "matmul"}, {"in", {"features", "features"}}, {"transpose_b", true}},
      {{"name", "f"}, {"op", "fm"}, {"in", "features"}},
      {{"name", "p"}, {"op", "pairwise_dot"}, {"in", "features"}},
      {{"name", "r"}, {"op", "reduce"}, {"in", "m"}, {"kind", "mean"}, {"axes", {0}}},
      {{"name", "x"}, {"op", "mul"}, {"in", {"m", "r"}}},
      {{"name", "y"}, {"op", "reduce"}, {"in", "x"}, {"axes", {1}}},
      {{"name", "z"}, {"op", "concat"}, {"in", {"f", "p", "y"}}},
      {{"op", "max"}, {"in", {"z", "f"}}},
      dense};
  const json all_states = {
      {{"op", "lstm"}, {"units", 5}, {"direction", "both"}, {"output", "all"}}, "flatten", dense};
  return {{"activations", layers(activations), {{"features", 12}, {"classes", 3}}},
          {"each_activation", layers(each_activation()), {{"features", 12}, {"classes", 3}}},
          {"of_time", layers(of_time), series, Lengths::given},
          {"two_values", layers(two_values), {{"features", {4, 6}}, {"classes", 3}}},
          {"series_lstm", layers(all_states), series, Lengths::given}};
}

// "" and a warning where no Python has what the script needs.
std::string python() {
  const std::string found = python_with("numpy, onnx");
  if (found.empty()) WARN("nothing is compared: python3-numpy or python3-onnx is missing");
  return found.empty() ? "" : found + " -W ignore ";
}

const std::string script = "tests/schemas/onnx/check_onnx.py ";

void check(const std::vector<Case>& cases) {
  const TempFolder folder;
  for (const Case& each : cases) {
    INFO(each.name);
    RuntimeCase(each.model, each.facts, each.lengths).write(folder.path(), each.name);
  }
  const std::string interpreter = python();
  if (interpreter.empty()) return;
  const Printed finished = run_printing(interpreter + script + folder.path());
  INFO(finished.output);
  CHECK(finished.status == 0);
}

}  // namespace

TEST_CASE("the interpreter of these tests passes the standard's own cases", "[onnx]") {
  const std::string interpreter = python();
  if (interpreter.empty()) return;
  const Printed finished = run_printing(interpreter + script + "--standard");
  INFO(finished.output);
  CHECK(finished.status == 0);
}

TEST_CASE("models of the zoo compute in ONNX what the runtime computes", "[onnx]") {
  std::vector<Case> cases = zoo_cases();
  if (is_sanitized) {  // large networks have the layers of small ones
    const std::set<std::string> large{"vgg11", "vgg11_norm", "resnet34"};
    std::erase_if(cases, [&](const Case& of) { return large.contains(of.name); });
  }
  check(cases);
}

TEST_CASE("every op of the language computes in ONNX what the runtime computes", "[onnx]") {
  check(image_cases());
  check(feature_cases());
}

}  // namespace trainyard::onnx
