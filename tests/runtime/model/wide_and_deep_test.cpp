// Wide and deep: against PyTorch, with the table that a ps would hold.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/math/optim/optimizer.h"
#include "runtime/math/rows/row_table.h"
#include "runtime/model/model.h"
#include "runtime/model/row_batch.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/model/step_on_device.h"
#include "tests/support/models.h"

namespace trainyard::runtime {

namespace {

model::Written wide_and_deep(std::int64_t embedding_size, const std::vector<std::int64_t>& hidden) {
  return models::zoo("wide_and_deep", {{"embedding_size", embedding_size},
                                       {"hidden", models::widths(hidden)},
                                       {"activation", "tanh"}});
}

DataShape shape_of(std::int64_t features, FeatureLayout layout = FeatureLayout::sparse) {
  return {.example = {features}, .features = features, .classes = 2, .layout = layout};
}

Batch sparse_batch(SparseRows x) {
  Batch batch{.examples = x.view().rows(), .features = {}, .labels = {}, .targets = {}};
  batch.sparse = std::move(x);
  return batch;
}

std::vector<std::int64_t> first_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

RowTable table_of(const RowLayout& layout, const std::vector<float>& rows) {
  RowTable table(layout, 1, {});
  const auto width = static_cast<std::size_t>(layout.width());
  for (std::size_t id = 0; id < rows.size() / width; ++id) {
    table.put(static_cast<std::int64_t>(id), std::span(rows).subspan(id * width, width));
  }
  return table;
}

}  // namespace

TEST_CASE("twelve steps of wide and deep are PyTorch's", "[model][golden]") {
  const auto reference = load_golden("sparse.json")["wide_and_deep"];
  Batch batch{.examples = 0, .features = {}, .labels = reference["labels"], .targets = {}};
  batch.examples = std::ssize(batch.labels);
  batch.sparse = {.offsets = reference["offsets"],
                  .columns = reference["columns"],
                  .values = reference["values"]};
  const std::int64_t features = reference["features"];
  auto model = Model::build(wide_and_deep(reference["embedding_size"], reference["hidden"]),
                            shape_of(features), {batch.examples});
  REQUIRE(model);
  const auto variables = model->variables();
  REQUIRE(variables.size() == 4);
  std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
  std::vector<float> gradients(weights.size());
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::vector<float> start = reference["start"][v];
    std::ranges::copy(start, weights.begin() + variables[v].offset);
  }
  RowTable table = table_of(model->rows(), reference["start_rows"]);
  RowBatch rows = model->row_batch();

  const auto examples = static_cast<float>(batch.examples);
  for (std::int64_t step = 1; step <= 12; ++step) {
    rows.assign(batch);
    table.read(rows.ids(), rows.rows());
    const BatchResult result = model->gradient(weights, batch, gradients, {}, &rows);
    check_on_device({wide_and_deep(reference["embedding_size"], reference["hidden"]),
                     shape_of(features), batch, weights, gradients, result, &rows});
    const double expected = reference["losses"][static_cast<std::size_t>(step - 1)];
    REQUIRE(result.loss_sum / static_cast<double>(examples) == Approx(expected).epsilon(5e-6));
    apply_update({}, 0.5, step, 1.0F / examples, gradients, weights, weights, {});
    table.apply(rows.gradients(),
                {.learning_rate = 0.5, .step = step, .gradient_scale = 1.0F / examples});
  }
  for (std::size_t v = 0; v < variables.size(); ++v) {
    INFO(variables[v].name);
    const std::vector<float> end = reference["end"][v];
    require_close(
        std::span(weights).subspan(static_cast<std::size_t>(variables[v].offset), end.size()), end,
        1e-5);
  }
  std::vector<float> end_rows(static_cast<std::size_t>(features * model->rows().width()));
  table.read(first_ids(features), end_rows);
  require_close(end_rows, reference["end_rows"].get<std::vector<float>>(), 1e-5);
}

TEST_CASE("a table's rows are in no arena, however many features there are", "[model]") {
  const auto model = Model::build(wide_and_deep(16, {8}), shape_of(2'000'000'000), {1});
  REQUIRE(model);
  CHECK(model->arena_elements() == 16 * 8 + 16 + 16 + 16);
  CHECK(model->rows().width() == 17);
  CHECK(model->rows().variables[0].name == "wide/kernel");
  CHECK(model->rows().variables[1].name == "embedding/kernel");
}

TEST_CASE("wide and deep needs sparse features of two classes, and embeddings of a size",
          "[model]") {
  using Catch::Matchers::Contains;
  const auto dense = Model::build(wide_and_deep(4, {3}), shape_of(5, FeatureLayout::dense), {1});
  REQUIRE_FALSE(dense);
  CHECK_THAT(dense.error().message, Contains("reads sparse rows"));
  DataShape three = shape_of(5);
  three.classes = 3;
  const auto classes = Model::build(wide_and_deep(4, {3}), three, {1});
  REQUIRE_FALSE(classes);
  CHECK_THAT(classes.error().message, Contains("two classes"));
  const auto none = Model::build(wide_and_deep(0, {3}), shape_of(5), {1});
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Contains("/model/embedding_size"));
}

TEST_CASE("the rows of a batch are its distinct columns, and every element finds its own",
          "[model]") {
  const SparseRows x{.offsets = {0, 3, 3, 6},
                     .columns = {5, 70'000, 2'147'483'646, 5, 6, 70'000},
                     .values = std::vector<float>(6, 1.0F)};
  RowBatch rows(3, {{}});
  rows.assign(sparse_batch(x));
  const std::vector<std::int64_t> expected{5, 6, 70'000, 2'147'483'646};
  CHECK(std::ranges::equal(rows.ids(), expected));
  CHECK(rows.rows().size() == 12);
  const RowFeed feed = rows.feeds().front();
  for (std::size_t i = 0; i < x.columns.size(); ++i) {
    CHECK(rows.ids()[static_cast<std::size_t>(feed.places[i])] == x.columns[i]);
  }
  rows.assign(sparse_batch({.offsets = {0, 0}, .columns = {}, .values = {}}));
  CHECK(rows.ids().empty());
}

TEST_CASE("a gradient of sums that somebody has made of rows is that of the rows", "[model]") {
  const auto spec = wide_and_deep(4, {3});
  auto model = Model::build(spec, shape_of(9), {2});
  REQUIRE(model);
  std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
  model->initialize(3, weights);
  Batch batch{.examples = 2, .features = {}, .labels = {1, 0}, .targets = {}};
  batch.sparse = {
      .offsets = {0, 3, 5}, .columns = {2, 5, 7, 2, 8}, .values = {1, -2, 0.5F, 3, 1.5F}};
  const std::int64_t width = model->rows().width();
  std::vector<float> gradients(weights.size());
  RowBatch rows(width, {{}});
  rows.assign(batch);
  std::ranges::copy(random_floats(rows.rows().size(), 4), rows.rows().begin());
  const std::vector<float> table(rows.rows().begin(), rows.rows().end());
  const double loss = model->gradient(weights, batch, gradients, {}, &rows).loss_sum;
  const RowGradients expected = rows.gradients();

  // Of the first example two rows are summed; ids 2, 5, 7, 8 are at 0, 1, 2, 3.
  const SparseRows summed{.offsets = {0, 2}, .columns = {1, 2}, .values = {-2, 0.5F}};
  std::vector<float> vectors = pool_bags(summed, table, width);
  vectors.insert(vectors.end(), table.begin(), table.begin() + width);
  vectors.insert(vectors.end(), table.begin() + 3 * width, table.end());
  rows.assign(batch);
  rows.take({.x = {.offsets = {0, 2, 4}, .columns = {1, 0, 1, 2}, .values = {1, 1, 3, 1.5F}},
             .vectors = vectors});
  std::vector<float> same(weights.size());
  CHECK(model->gradient(weights, batch, same, {}, &rows).loss_sum == Approx(loss));

  require_close(same, gradients, 1e-5);
  const std::span<const float> of_vectors = rows.vector_gradients();
  const auto floats = static_cast<std::size_t>(width);
  REQUIRE(of_vectors.size() == 3 * floats);
  const auto spread =
      spread_bags({5, 7}, {.offsets = {0, 2}, .columns = {0, 1}, .values = {-2, 0.5F}},
                  of_vectors.first(floats), width);
  const std::span<const float> wanted(expected.rows);
  require_close(spread.rows, wanted.subspan(floats, 2 * floats), 1e-5);
  require_close(of_vectors.subspan(floats, floats), wanted.first(floats), 1e-5);
  require_close(of_vectors.last(floats), wanted.last(floats), 1e-5);
}

TEST_CASE("an example without features has the bias' logit", "[model]") {
  auto model = Model::build(wide_and_deep(4, {}), shape_of(5), {2});
  REQUIRE(model);
  std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
  weights[static_cast<std::size_t>(model->variables()[1].offset)] = 2.0F;
  Batch batch{.examples = 2, .features = {}, .labels = {1, 0}, .targets = {}};
  batch.sparse = {.offsets = {0, 0, 0}, .columns = {}, .values = {}};
  RowBatch rows(5, {{}});
  rows.assign(batch);
  CHECK(model->evaluate(weights, batch, &rows).loss_sum ==
        Approx(std::log1p(std::exp(-2.0)) + std::log1p(std::exp(2.0))));
}

}  // namespace trainyard::runtime
