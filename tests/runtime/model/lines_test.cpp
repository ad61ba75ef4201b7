// A CRNN on lines of digits, from the data set to its metrics.
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/data/dataset.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/support/models.h"

namespace trainyard::runtime {

TEST_CASE("a network that knows nothing is wrong about every line", "[model]") {
  constexpr std::int64_t lines = 8;
  DatasetSpec spec;
  spec.name = spec.format = "synthetic_lines";
  spec.train_examples = lines;
  spec.test_examples = lines;
  const auto data = open_dataset(spec, 1);
  REQUIRE(data);
  REQUIRE((*data)->prepare(Split::test));
  std::vector<std::int64_t> indices(lines);
  std::iota(indices.begin(), indices.end(), 0);
  Batch batch;
  REQUIRE((*data)->read({.split = Split::test, .indices = indices}, batch));

  auto model = Model::build(models::zoo("crnn"), (*data)->shape(), {lines});
  REQUIRE(model);
  REQUIRE(model->metrics().size() == 2);
  CHECK(model->metrics()[0].name == "edit_distance");
  AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));  // all zero
  const BatchResult result = model->evaluate(weights.span(), batch);
  // All scores are equal: the first, the blank, is taken each time, and four digits are missing.
  CHECK(result.metrics[0] == 4 * lines);
  CHECK(result.metrics[1] == 0);
}

}  // namespace trainyard::runtime
