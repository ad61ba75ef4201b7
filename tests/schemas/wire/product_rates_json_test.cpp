#include "schemas/wire/product_rates_json.h"

#include <catch2/catch.hpp>

using namespace trainyard;

namespace {

const MeasuredGpu measured{.name = "NVIDIA T4",
                           .build = "0123456789ab",
                           .rates = {{Precision::float32, 3.25}, {Precision::bfloat16, 1e-7}}};

std::string refusal(std::string_view line) {
  const auto result = parse_measured_gpu(line);
  REQUIRE_FALSE(result);
  return result.error().message;
}

std::string with_rates(const std::string& rates) {
  return R"({"gpu": "G", "build": "b", "product_tflops": )" + rates + "}";
}

}  // namespace

TEST_CASE("a measurement comes back as it was", "[wire][gpu]") {
  const std::string line = to_json(measured);
  CHECK(line.find('\n') == std::string::npos);
  const auto again = parse_measured_gpu(line);
  REQUIRE(again);
  CHECK(*again == measured);
}

TEST_CASE("a measurement with a number that is no rate is refused, by its place", "[wire][gpu]") {
  for (const char* number : {"-1", "0", "1e7", "1000001", "\"1\"", "null", "[]", "\"nan\""}) {
    INFO(number);
    CHECK(refusal(with_rates(R"({"float32": 1, "tf32": )" + std::string(number) + "}"))
              .starts_with("the measurement: /product_tflops/tf32 must be "));
  }
  refusal(with_rates(R"({"float32": 1e999})"));
  refusal(with_rates(R"({"float32": NaN})"));
  refusal(with_rates(R"({"float32": 1, "float32": 2})"));
  CHECK(refusal(with_rates("{}")).find("has no rate") != std::string::npos);
  CHECK(refusal(with_rates("7")).find("/product_tflops") != std::string::npos);
  CHECK(refusal(with_rates(R"({"float32": 1, "float8": 1})")).find("float8") != std::string::npos);
  CHECK(parse_measured_gpu(with_rates(R"({"float32": 1e6})")));
}

TEST_CASE("what is no measurement is refused", "[wire][gpu]") {
  for (const char* text :
       {"", "rubbish", "[]", "7", R"({"gpu": "G", "build": "b"})",
        R"({"gpu": "", "build": "b", "product_tflops": {"tf32": 1}})",
        R"({"gpu": "a\nb", "build": "b", "product_tflops": {"tf32": 1}})",
        R"({"gpu": 7, "build": "b", "product_tflops": {"tf32": 1}})",
        R"({"gpu": "G", "build": "b", "product_tflops": {"tf32": 1}, "colour": 1})"}) {
    INFO(text);
    refusal(text);
  }
  refusal(std::string(4000, '['));
}

TEST_CASE("what an agent keeps of measurements comes back as it was, or not at all",
          "[wire][gpu]") {
  const KeptProductRates one{.gpu = "NVIDIA T4",
                             .version = "0.1.0",
                             .plugin_bytes = 4096,
                             .plugin_changed = -7,
                             .rates = measured.rates};
  const std::vector<KeptProductRates> all{one, one};
  const auto again = parse_kept_product_rates(to_json(all));
  REQUIRE(again);
  CHECK(*again == all);
  CHECK(parse_kept_product_rates("[]")->empty());

  CHECK_FALSE(parse_kept_product_rates(to_json(std::vector(1025, one))));
  CHECK_FALSE(parse_kept_product_rates("{}"));
  CHECK_FALSE(parse_kept_product_rates(""));
  std::string damaged = to_json(all);
  damaged.replace(damaged.rfind("3.25"), 4, "-3.2");
  const auto refused = parse_kept_product_rates(damaged);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("/1/product_tflops/float32") != std::string::npos);
}
