// What an analysis says of a right model: names, variables, their places, costs and memory.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "schemas/model/op_rule.h"
#include "tests/schemas/model/reading.h"

using namespace trainyard;
using namespace trainyard::model;
using nlohmann::json;

namespace {

Analysis of(const std::string& layers, const std::string& dataset, const Setting& setting = {},
            const std::string& loss = "softmax_cross_entropy") {
  const Analysis analysis = analyse_json(json{{"layers", json::parse(layers)}, {"loss", loss}},
                                         facts_of(dataset), setting);
  CHECK(to_lines(analysis.faults) == "");
  return analysis;
}

const Variable& variable(const Analysis& analysis, const std::string& name) {
  const auto found = std::ranges::find(analysis.variables, name, &Variable::name);
  INFO(name);
  REQUIRE(found != analysis.variables.end());
  return *found;
}

std::vector<std::string> layer_names(const Analysis& analysis) {
  std::vector<std::string> names;
  for (const AnalysedLayer& layer : analysis.layers) names.push_back(layer.name);
  return names;
}

}  // namespace

TEST_CASE("layers without a name have their op's and a number, those inside a path", "[model]") {
  const Analysis analysis = of(R"([{"op": "dense", "units": 4}, "relu",
      {"repeat": 2, "name": "h", "layers": [{"residual": [{"op": "dense", "units": 4}]}]},
      {"residual": ["relu"], "shortcut": [{"op": "dense", "units": 4}]},
      {"op": "dense", "units": "classes"}])",
                               "vectors");

  CHECK(layer_names(analysis) ==
        std::vector<std::string>{"features", "dense_0", "relu_0", "h/0/residual_0/dense_0",
                                 "h/0/residual_0", "h/1/residual_0/dense_0", "h/1/residual_0",
                                 "residual_0/relu_0", "residual_0/shortcut/dense_0", "residual_0",
                                 "dense_1"});
  CHECK(variable(analysis, "h/1/residual_0/dense_0/kernel").shape == Sizes{4, 4});
  CHECK(variable(analysis, "dense_1/bias").shape == Sizes{2});
}

TEST_CASE("attention is spelled out, and its variables are those of its two products", "[model]") {
  const Analysis analysis = of(R"([{"op": "attention", "heads": 4, "causal": true},
      "flatten", {"op": "dense", "units": "classes"}])",
                               "series");

  CHECK(analysis.layers[1].name == "attention_0/qkv");
  CHECK(analysis.layers[6].name == "attention_0/output");
  CHECK(variable(analysis, "attention_0/qkv/kernel").shape == Sizes{28, 84});
  CHECK(variable(analysis, "attention_0/output/bias").shape == Sizes{28});
}

TEST_CASE("parameters lie in the order of the layers, state at the end in blocks of its own",
          "[model]") {
  const Analysis analysis = of(R"([{"op": "dense", "units": 4}, "batch_norm",
      {"op": "dense", "units": "classes"}])",
                               "vectors", {.micro_batch = 2});

  CHECK(variable(analysis, "dense_0/kernel").offset == 0);
  CHECK(variable(analysis, "dense_0/bias").offset == 80);
  CHECK(variable(analysis, "batch_norm_0/scale").offset == 96);
  CHECK(variable(analysis, "dense_1/bias").offset == 96 + 16 + 16 + 16);
  CHECK(variable(analysis, "batch_norm_0/mean").offset == 1024);
  CHECK(variable(analysis, "batch_norm_0/variance").offset == 1040);
  CHECK(variable(analysis, "batch_norm_0/variance").start == Start{StartKind::constant, 1});
  CHECK(analysis.parameters == 102);
  CHECK(analysis.state == 8);
}

TEST_CASE("an initialiser is the layer's, else the model's, else the op's own", "[model]") {
  const json model = json::parse(R"({"init": {"name": "normal", "stddev": 0.02}, "layers": [
      {"op": "dense", "units": 4}, {"op": "dense", "units": 6, "init": "xavier_uniform"},
      {"op": "dense", "units": 8, "init": "torch"},
      {"op": "lstm", "in": "s", "units": 3, "forget_bias": 1, "name": "l"},
      {"op": "concat", "in": ["dense_2", "l"]}, {"op": "dense", "units": "classes"}],
      "inputs": {"x": "features", "s": "more"}, "loss": "softmax_cross_entropy"})");
  json first = model;
  first["layers"][0]["in"] = "x";
  Facts facts = facts_of("vectors");
  facts.fields.push_back({.name = "more", .shape = Sizes{5, 2}});

  const Analysis analysis = analyse_json(first, facts);

  CHECK(to_lines(analysis.faults) == "");
  CHECK(variable(analysis, "dense_0/kernel").start == Start{StartKind::normal, 0.02});
  CHECK(variable(analysis, "dense_0/bias").start == Start{});
  const Start xavier = variable(analysis, "dense_1/kernel").start;
  CHECK(xavier.kind == StartKind::uniform);
  CHECK(xavier.scale == Approx(std::sqrt(6.0 / 10)));
  CHECK(variable(analysis, "dense_2/kernel").start.scale == Approx(1 / std::sqrt(6.0)));
  CHECK(variable(analysis, "dense_2/bias").start.scale == Approx(1 / std::sqrt(6.0)));
  CHECK(variable(analysis, "l/bias").start == Start{StartKind::forget_gate, 1});
}

TEST_CASE("a tied head has no kernel of its own, a frozen one has no gradient", "[model]") {
  const json model = json::parse(R"({"layers": [{"op": "embedding", "size": 8, "name": "wte"},
      {"repeat": 1, "freeze": true, "layers": [{"op": "dense", "units": 8}]},
      {"op": "dense", "units": "vocabulary", "tie": "wte", "bias": false}],
      "loss": {"op": "softmax_cross_entropy", "per": "token"}})");

  const Analysis analysis = analyse_json(model, facts_of("web"));

  CHECK(to_lines(analysis.faults) == "");
  CHECK(analysis.parameters == 50257 * 8 + 72);
  CHECK(analysis.layers.back().tied_to == 0U);
  CHECK(analysis.layers.back().is_tied_transposed);
  CHECK(variable(analysis, "repeat_0/0/dense_0/kernel").is_frozen);
  // Its input's gradient is computed, its kernel's is not.
  CHECK(analysis.layers[2].backward_flops == analysis.layers[2].forward_flops);
  CHECK(*analysis.layers[3].backward_flops == 2 * *analysis.layers[3].forward_flops);
}

TEST_CASE("a recurrence computes its state's gradient, whether its input has one or not",
          "[model]") {
  const json model = json::parse(R"({"layers": [
      {"op": "lstm", "units": 3, "output": "all", "in": "s"},
      {"op": "lstm", "units": 4, "output": "all"},
      {"repeat": 1, "freeze": true, "layers": [{"op": "gru", "units": 5}]},
      {"op": "dense", "units": "classes"}],
      "inputs": {"s": "more"}, "loss": "softmax_cross_entropy"})");
  Facts facts = facts_of("vectors");
  facts.fields = {{.name = "more", .shape = Sizes{6, 2}}};

  const Analysis analysis = analyse_json(model, facts);

  CHECK(to_lines(analysis.faults) == "");
  const auto flops = [&analysis](std::size_t layer) {
    const auto& [forward, backward] = std::pair(analysis.layers.at(layer).forward_flops,
                                                analysis.layers.at(layer).backward_flops);
    return std::vector{forward.value(), backward.value()};
  };
  // Four gates of 3 numbers read 2 of the data, whose gradient nobody wants, and 3 of the state.
  CHECK(flops(1) == std::vector<std::int64_t>{2 * 6 * 12 * (2 + 3), 2 * 6 * 12 * (2 + 2 * 3)});
  // Behind it the input has one, too.
  CHECK(flops(2) == std::vector<std::int64_t>{2 * 6 * 16 * (3 + 4), 2 * 6 * 16 * 2 * (3 + 4)});
  // Frozen kernels have none.
  CHECK(flops(3) == std::vector<std::int64_t>{2 * 6 * 15 * (4 + 5), 2 * 6 * 15 * (4 + 5)});
}

TEST_CASE("recompute keeps what goes into each block, and one block's values", "[model]") {
  const auto kept = [](const std::string& flag) {
    return *of(R"([{"op": "dense", "units": 64}, {"repeat": 8, "layers": [)"
               R"({"op": "dense", "units": 64, "activation": "tanh"}, "sigmoid", "tanh"])" +
                   flag + R"(}, {"op": "dense", "units": "classes"}])",
               "vectors")
                .kept_bytes;
  };

  // Inputs of the layers: 20 numbers, then 64 of each; the block's are 3 of 64.
  CHECK(kept("") == 4 * (20 + 64 + 8 * 3 * 64));
  CHECK(kept(R"(, "recompute": true)") == 4 * (20 + 64 + 8 * 64 + 2 * 64));
}

TEST_CASE("what the files alone tell stays unknown, and all else is worked out", "[model]") {
  const Analysis analysis = of(R"([{"op": "conv2d", "filters": 8, "kernel": 3}, "relu",
      "global_avg_pool", {"op": "dense", "units": 4}, {"op": "dense", "units": "classes"}])",
                               "folder", {.micro_batch = 2, .worker_memory_mb = 1});

  CHECK(analysis.layers[1].shape == Sizes{unknown_size, unknown_size, 8});
  CHECK(analysis.layers[3].shape == Sizes{8});
  CHECK(variable(analysis, "conv2d_0/kernel").offset == 0);
  CHECK(analysis.layers[4].parameters == 36);
  CHECK_FALSE(analysis.layers[5].parameters.has_value());
  CHECK_FALSE(analysis.parameters.has_value());
  CHECK_FALSE(analysis.forward_flops.has_value());
  CHECK_FALSE(analysis.worker.total.has_value());
}

TEST_CASE("memory is of one task of each role", "[model]") {
  const Analysis analysis =
      of(R"([{"op": "dense", "units": 1000}, "relu", {"op": "dense", "units": "classes"}])",
         "vectors", {.micro_batch = 10, .ps = 2, .optimizer_slots = 2});

  const std::int64_t parameters = 20 * 1000 + 1000 + 2000 + 2;
  CHECK(analysis.parameters == parameters);
  CHECK(analysis.worker.parameters == 4 * parameters);
  CHECK(analysis.worker.gradients == 4 * parameters);
  CHECK(analysis.worker.kept == 10 * 4 * (20 + 1000));
  CHECK(analysis.worker.scratch == 10 * 4 * 2000);
  CHECK(analysis.ps.parameters == 2 * parameters);
  CHECK(analysis.ps.slots == 4 * parameters);
}

TEST_CASE("what a GPU computes it keeps, and the host does not", "[model]") {
  const json network = json::parse(R"({
      "layers": [{"op": "dense", "units": 1000}, "relu", {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})");
  using Computes = Setting::Computes;
  const auto on = [&](Computes computes, std::optional<std::int64_t> gpu_memory_mb) {
    return analyse_json(network, facts_of("vectors"),
                        {.micro_batch = 1000,
                         .gradients = 2,
                         .ps = 2,
                         .computes = computes,
                         .gpu_memory_mb = gpu_memory_mb,
                         .gpu_memory_pointer = "/gpu"});
  };
  const std::int64_t arena = 4 * (20 * 1000 + 1000 + 2000 + 2);
  const std::int64_t kept = 1000 * 4 * (20 + 1000);
  const std::int64_t scratch = 1000 * 4 * 2000;
  CHECK_FALSE(on(Computes::cpu, 1).gpu.has_value());

  const Analysis there = on(Computes::gpu, {});
  CHECK(there.worker.total == 3 * arena);
  CHECK(there.gpu->total == 2 * arena + kept + scratch);
  CHECK(there.faults.empty());
  const Analysis either = on(Computes::either, {});
  CHECK(either.worker.total == 3 * arena + kept + scratch);
  CHECK(either.gpu->total == there.gpu->total);
  CHECK(either.faults.empty());

  // What is kept is not sure enough to refuse a job for.
  CHECK(on(Computes::gpu, 1).faults.empty());
  const Analysis large = analyse_json(
      json::parse(R"({
      "layers": [{"op": "dense", "units": 100000}, {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})"),
      facts_of("vectors"),
      {.computes = Computes::either, .gpu_memory_mb = 17, .gpu_memory_pointer = "/gpu"});
  REQUIRE(large.faults.size() == 1);
  CHECK(large.faults.front().pointer == "/gpu");
  CHECK(large.faults.front().message ==
        "a GPU needs 18 MiB for parameters and gradients alone, more than 17");
}

TEST_CASE("a loss that compares all pairs of a micro-batch keeps a number for each", "[model]") {
  const auto worker = [](std::int64_t micro_batch) {
    return analyse_json(json::parse(R"({"inputs": {"u": "userId", "i": "movieId"},
        "layers": [{"op": "embedding", "in": "u", "size": 4, "name": "a"},
                   {"op": "embedding", "in": "i", "size": 4, "name": "b"}],
        "loss": {"op": "in_batch_softmax", "in": ["a", "b"]}})"),
                        facts_of("ratings"), {.micro_batch = micro_batch})
        .worker;
  };
  const auto one = worker(1);
  const auto many = worker(100);
  CHECK(*many.kept == 100 * (*one.kept - 4) + 4 * 100 * 100);
  CHECK(*many.scratch == 100 * (*one.scratch - 4) + 4 * 100 * 100);
}

TEST_CASE("the table of ops names each op once, with a rule", "[model]") {
  std::vector<std::string_view> names = op_names();
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK(std::ranges::all_of(ops(), [](const OpRule& rule) { return rule.infer != nullptr; }));
}
