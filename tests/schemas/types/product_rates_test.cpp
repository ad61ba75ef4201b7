#include "schemas/types/product_rates.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace trainyard;

TEST_CASE("rates of products are put into words with two digits each", "[gpu]") {
  using enum Precision;
  CHECK(product_rate_words({{float32, 11.96}, {tf32, 341.7}, {bfloat16, 564}}) ==
        "12 TFLOP/s in float32, 340 in tf32, 560 in bfloat16");
  CHECK(product_rate_words({{bfloat16, 9.96}}) == "10 TFLOP/s in bfloat16");
  CHECK(product_rate_words({{float32, 3.14}}) == "3.1 TFLOP/s in float32");
  CHECK(product_rate_words({{float32, 0.01249}, {tf32, 5}}) ==
        "0.012 TFLOP/s in float32, 5.0 in tf32");
  CHECK(product_rate_words({{float32, 1e6}}) == "1000000 TFLOP/s in float32");
  CHECK(product_rate_words({}).empty());
}

TEST_CASE("what is no rate is not said", "[gpu]") {
  using enum Precision;
  for (const double bad :
       {0.0, -1.0, 1.1e6, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_FALSE(is_product_rate(bad));
    CHECK(product_rate_words({{float32, bad}}).empty());
    CHECK(product_rate_words({{float32, bad}, {tf32, 2}}) == "2.0 TFLOP/s in tf32");
  }
  CHECK(is_product_rate(product_tflops_least));
  CHECK_FALSE(is_product_rate(std::numeric_limits<double>::denorm_min()));
  CHECK(product_rate_words({{float32, std::numeric_limits<double>::denorm_min()}}).size() < 80);
}

TEST_CASE("a task says of one GPU and of several what their products make", "[gpu]") {
  const ProductRates rates{{Precision::float32, 12}};
  CHECK(products_make(1, rates) == "; its products make 12 TFLOP/s in float32");
  CHECK(products_make(2, rates) == "; the products of each make 12 TFLOP/s in float32");
  CHECK(products_make(1, {}).empty());
}
