#include "api/client/model_lines.h"

#include <catch2/catch.hpp>

namespace trainyard::client {
namespace {

using Catch::Matchers::Contains;

nlohmann::json small_model() {
  return nlohmann::json::parse(R"({"layers": [
      {"name": "image", "op": "input", "shape": [28, 28, 1], "parameters": 0, "variables": []},
      {"name": "flatten_0", "op": "flatten", "shape": [784], "parameters": 0, "variables": []},
      {"name": "dense_0", "op": "dense", "shape": [10], "parameters": 7850, "variables": [
        {"name": "dense_0/kernel", "role": "parameter"}]}],
    "parameters": 7850, "row_columns": 0, "forward_flops": 15680, "backward_flops": 15680,
    "memory_bytes": {"worker": {"parameters": 31400, "gradients": 31400, "slots": 0, "kept": 0,
                                "scratch": 0, "total": 62800},
                     "ps": {"parameters": 31400, "slots": 0, "total": 31400}}})");
}

}  // namespace

TEST_CASE("a planned model has its shapes, parameters and the memory of each role", "[client]") {
  CHECK(model_lines(small_model()) ==
        "LAYER      OP       SHAPE        PARAMETERS\n"
        "image      input    28 x 28 x 1           0\n"
        "flatten_0  flatten  784                   0\n"
        "dense_0    dense    10                7,850\n"
        "parameters: 7,850\n"
        "FLOPs of an example: forward 15,680, backward 15,680\n"
        "memory of a worker: 61.3 KiB (parameters 30.7 KiB, gradients 30.7 KiB)\n"
        "memory of a ps: 30.7 KiB (parameters 30.7 KiB)\n");
}

TEST_CASE("what only the data's files tell is said to be so", "[client]") {
  nlohmann::json model = small_model();
  model["layers"][1]["shape"] = {nullptr};
  model["layers"][2]["parameters"] = nullptr;
  model["parameters"] = nullptr;
  model["memory_bytes"]["worker"] = {{"total", nullptr}, {"kept", 1024}};
  const std::string lines = model_lines(model);
  CHECK_THAT(lines, Contains("flatten_0  flatten  ? ") && Contains("parameters: ?\n"));
  CHECK_THAT(lines, Contains("memory of a worker: ? (kept for the backward pass 1.0 KiB)\n"));
  CHECK_THAT(lines, Catch::Matchers::EndsWith("?: only the data's files tell\n"));
}

TEST_CASE("tables of rows have no parameters of their own, and a job without ps no memory of one",
          "[client]") {
  nlohmann::json model = small_model();
  model["layers"][2]["variables"][0]["role"] = "row_table";
  model["row_columns"] = 16;
  model["memory_bytes"]["ps"]["total"] = 0;
  const std::string lines = model_lines(model);
  CHECK_THAT(lines, Contains("dense    10                 rows\n"));
  CHECK_THAT(lines, Contains("parameters: 7,850, and 16 in a row of the tables\n"));
  CHECK_THAT(lines, !Contains("of a ps"));
}

TEST_CASE("of a deep model the first and the last layers are shown", "[client]") {
  nlohmann::json model = small_model();
  for (int i = 0; i < 50; ++i) {
    model["layers"].push_back(
        {{"name", "l" + std::to_string(i)}, {"op", "relu"}, {"shape", {10}}, {"parameters", 0}});
  }
  const std::string lines = model_lines(model);
  CHECK_THAT(lines, Contains("\n... 29 more\n") && Contains("image") && Contains("\nl49 "));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 1 + 24 + 1 + 4);
}

TEST_CASE("an answer that has no model, or a hostile one, does no harm", "[client]") {
  CHECK(model_lines(nullptr).empty());
  CHECK(model_lines(nlohmann::json::object()).empty());
  CHECK(model_lines(nlohmann::json::array({1})).empty());
  nlohmann::json model = small_model();
  model["layers"] = {{{"name", "\x1b[2J"}, {"op", 7}, {"shape", "x"}, {"variables", 3}}, 5};
  model["memory_bytes"] = "much";
  CHECK(model_lines(model).find('\x1b') == std::string::npos);
}

}  // namespace trainyard::client
