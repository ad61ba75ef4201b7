#include "runtime/data/synthetic_lines.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/runtime/data/batches.h"

namespace trainyard::runtime {

namespace {

DatasetSpec digit_lines(std::int64_t train, std::int64_t test) {
  DatasetSpec spec;
  spec.format = "synthetic_lines";
  spec.train_examples = train;
  spec.test_examples = test;
  return spec;
}

// Ink in each quarter of the line.
float ink_of(const Batch& batch, std::size_t line, std::size_t digit) {
  float ink = 0;
  for (std::size_t row = 0; row < 28; ++row) {
    for (std::size_t column = 0; column < 28; ++column) {
      ink += batch.features[line * 28 * 112 + row * 112 + digit * 28 + column];
    }
  }
  return ink;
}

}  // namespace

TEST_CASE("a line is four digits side by side, a function of seed, split and number",
          "[synthetic_lines]") {
  const auto data = open_synthetic_lines(digit_lines(200, 50), 5);
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {28, 112, 1},
                                      .features = 28 * 112,
                                      .labels = LabelLayout::symbols,
                                      .symbols = 11});
  const Batch train = read_all(**data, Split::train);
  const Batch test = read_all(**data, Split::test);
  REQUIRE(train.symbols.size() == 800);
  CHECK(train.symbol_offsets[7] == 28);
  CHECK(std::set<std::int32_t>(train.symbols.begin(), train.symbols.end()) ==
        std::set<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  int repeats = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      const float ink = ink_of(train, i, k);
      CHECK(ink > 10);
      CHECK(ink < 400);
      repeats += k > 0 && train.symbols[4 * i + k] == train.symbols[4 * i + k - 1] ? 1 : 0;
    }
  }
  CHECK(repeats > 20);  // of 600, one in ten: CTC needs blanks
  CHECK(std::vector(train.symbols.begin(), train.symbols.begin() + 200) != test.symbols);

  const std::vector<std::int64_t> some{42, 3};
  Batch again;
  REQUIRE((*data)->read({Split::train, some}, again));
  CHECK(again.symbols == std::vector<std::int32_t>{train.symbols[168], train.symbols[169],
                                                   train.symbols[170], train.symbols[171],
                                                   train.symbols[12], train.symbols[13],
                                                   train.symbols[14], train.symbols[15]});
  CHECK(std::equal(again.features.begin(), again.features.begin() + 28 * 112,
                   train.features.begin() + 42 * 28 * 112));
  const auto other = open_synthetic_lines(digit_lines(200, 50), 6);
  REQUIRE(other);
  CHECK(read_all(**other, Split::train).symbols != train.symbols);
}

TEST_CASE("lines of digits need a number of examples and time steps", "[synthetic_lines]") {
  CHECK_FALSE(open_synthetic_lines(digit_lines(0, 1), 1));
  CHECK_FALSE(open_synthetic_lines(digit_lines(1, 10'000'001), 1));
  CHECK(open_synthetic_lines(digit_lines(1, 1), 1, 7));
  const auto few = open_synthetic_lines(digit_lines(1, 1), 1, 6);
  REQUIRE_FALSE(few);
  CHECK_THAT(few.error().message, Catch::Matchers::Contains("need 7 time steps"));
}

}  // namespace trainyard::runtime
