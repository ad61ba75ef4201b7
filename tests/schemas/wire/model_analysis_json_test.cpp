#include "schemas/wire/model_analysis_json.h"

#include <catch2/catch.hpp>

namespace trainyard::model {
namespace {

using nlohmann::json;

// An image of unknown height, a dense layer tied to nothing, a loss.
Analysis analysis() {
  Analysis analysis;
  analysis.variables = {{.name = "dense_0/kernel",
                         .shape = {3, 10},
                         .start = {StartKind::uniform, 0.5},
                         .is_frozen = true,
                         .elements = 30,
                         .offset = 0}};
  analysis.layers = {{.name = "image",
                      .op = "input",
                      .shape = Sizes{unknown_size, 28, 3},
                      .pointer = "/model/inputs"},
                     {.name = "dense_0",
                      .op = "dense",
                      .in = {0},
                      .arguments = {{"units", 10}, {"bias", false}},
                      .shape = std::nullopt,
                      .variables = {0},
                      .parameters = 30,
                      .forward_flops = std::nullopt,
                      .recompute_block = 2,
                      .pointer = "/model/layers/0"}};
  analysis.losses = {{.op = "softmax_cross_entropy",
                      .in = {1},
                      .target = "label",
                      .arguments = {{"weight", 1}},
                      .pointer = "/model/loss"}};
  analysis.parameters = 30;
  analysis.forward_flops = std::nullopt;
  analysis.worker.total = 4096;
  analysis.ps.slots = 240;
  return analysis;
}

}  // namespace

TEST_CASE("an analysis says of each layer its inputs, shape, variables and costs", "[model]") {
  const json written = analysis_to_json(analysis());

  CHECK(written["layers"][0]["shape"] == json({nullptr, 28, 3}));
  CHECK(written["layers"][1] == json::parse(R"({
    "name": "dense_0", "op": "dense", "in": ["image"], "shape": null, "kind": "number",
    "parameters": 30, "state": 0, "forward_flops": null, "backward_flops": 0, "kept_bytes": 0,
    "arguments": {"units": 10, "bias": false},
    "variables": [{"name": "dense_0/kernel", "shape": [3, 10], "role": "parameter",
                   "start": {"kind": "uniform", "scale": 0.5}, "frozen": true}],
    "recompute_block": 2, "pointer": "/model/layers/0"})"));
  CHECK(written["losses"] == json::parse(R"([{"op": "softmax_cross_entropy", "in": ["dense_0"],
    "target": "label", "arguments": {"weight": 1}, "pointer": "/model/loss"}])"));
}

TEST_CASE("an analysis ends in totals and the memory of each role", "[model]") {
  json written = analysis_to_json(analysis());
  written.erase("layers");
  written.erase("losses");

  CHECK(written == json::parse(R"({
    "metrics": [], "parameters": 30, "state": 0, "row_columns": 0, "forward_flops": null,
    "backward_flops": 0, "kept_bytes": 0,
    "memory_bytes": {
      "worker": {"parameters": null, "gradients": null, "kept": null, "scratch": null,
                 "slots": null,
                 "total": 4096},
      "gpu": null,
      "ps": {"parameters": null, "slots": 240, "total": null}},
    "not_in_onnx": []})"));
}

TEST_CASE("a layer that is tied names the variable that it uses", "[model]") {
  Analysis tied = analysis();
  tied.layers[1].variables = {};
  tied.layers[1].tied_to = 0;

  CHECK(analysis_to_json(tied)["layers"][1]["tied_to"] == "dense_0/kernel");
}

}  // namespace trainyard::model
