// Shapes and counts of single layers against PyTorch's (tests/golden/make_model_shapes.py).
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/schemas/model/reading.h"

using namespace trainyard;
using namespace trainyard::model;
using nlohmann::json;

TEST_CASE("layers with random settings have PyTorch's shapes and counts, and are refused with it",
          "[model]") {
  std::ifstream file("tests/golden/model_shapes.json");
  REQUIRE(file.good());
  const json cases = json::parse(file);
  REQUIRE(cases.size() >= 400);
  std::size_t refused = 0;
  for (const json& one : cases) {
    CAPTURE(one.dump());
    const Facts facts{.dataset = "zeros",
                      .fields = {{.name = "x", .shape = one["input"].get<Sizes>()}}};
    const json model{{"layers", {one["layer"]}}, {"loss", "squared_error"}};

    const Analysis analysis = analyse_json(model, facts, {.micro_batch = 2});

    REQUIRE(analysis.layers.size() == 2);
    const AnalysedLayer& layer = analysis.layers.back();
    if (one["output"].is_null()) {
      ++refused;
      CHECK_FALSE(layer.shape.has_value());
      REQUIRE(analysis.faults.size() == 1);
      CHECK(analysis.faults.front().pointer.starts_with("/model/layers/0/"));
      continue;
    }
    CHECK(layer.shape == one["output"].get<Sizes>());
    CHECK(layer.parameters == one["parameters"].get<std::int64_t>());
  }
  CHECK(refused >= 50);
}
