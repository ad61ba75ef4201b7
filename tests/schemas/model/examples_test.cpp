// The six examples of the design: they are right as they stand, and count what was counted there.
#include <catch2/catch.hpp>

#include "tests/schemas/model/reading.h"

using namespace trainyard;
using namespace trainyard::model;

namespace {

struct Example {
  std::string file;
  std::string dataset;
  std::int64_t parameters;
  std::int64_t row_columns;
  double forward_flops;  // 0 = the design says nothing
};

}  // namespace

TEST_CASE("the examples of the design are without faults and have the parameters it counts",
          "[model]") {
  const auto example = GENERATE(values<Example>({
      {"cifar_cnn", "cifar", 1'070'986, 0, 13.3e6},
      {"resnet18", "birds", 11'689'512, 0, 3.63e9},
      {"lstm_reviews", "reviews", 2'823'682, 0, 0},
      {"text_lines", "lines", 751'883, 0, 0},
      {"gpt2_small", "web", 124'439'808, 0, 0},
      {"deepfm", "criteo", 332'801, 17, 0},
      {"two_tower", "ratings", 8'384, 64, 0},
  }));
  CAPTURE(example.file);

  const Analysis analysis = analyse_json(read_json_file("examples/" + example.file + ".json"),
                                         facts_of(example.dataset), {.micro_batch = 16});

  CHECK(to_lines(analysis.faults) == "");
  CHECK(analysis.parameters == example.parameters);
  CHECK(analysis.row_columns == example.row_columns);
  REQUIRE(analysis.forward_flops.has_value());
  if (example.forward_flops > 0) {
    CHECK(static_cast<double>(*analysis.forward_flops) ==
          Approx(example.forward_flops).epsilon(0.005));
  }
}
