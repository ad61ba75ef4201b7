// One training step of each recommender of the zoo: losses, every gradient and those of the rows
// are PyTorch's (tests/golden/make_recommenders.py).
#include <catch2/catch.hpp>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "runtime/model/row_batch.h"
#include "runtime/model/split_metrics.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/model/step_check.h"
#include "tests/runtime/model/step_on_device.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t golden_ids = 9;

model::Written recommender_of(const nlohmann::json& reference) {
  model::Written written = models::zoo(reference["name"]);
  for (const auto& [name, value] : reference.items()) {
    if (value.is_number()) models::set_argument(written, name, value.get<double>());
    if (value.is_string() && name != "name") {
      models::set_argument(written, name, value.get<std::string>());
    }
    if (value.is_array()) models::set_argument(written, name, models::widths(value));
  }
  return written;
}

bool is_two_tower(const nlohmann::json& reference) {
  return reference["model"]["name"] == "two_tower";
}

DataShape recommender_shape(const nlohmann::json& reference) {
  DataShape shape{.example = {3}, .features = 3, .classes = 2, .layout = FeatureLayout::columns};
  shape.id_fields = {{.name = "categorical", .example = {reference["columns"]}, .ids = golden_ids}};
  if (!is_two_tower(reference)) return shape;
  shape.classes = 0;
  shape.labels = LabelLayout::none;
  shape.id_fields = {{.name = "user", .example = {}, .ids = golden_ids},
                     {.name = "item", .example = {}, .ids = golden_ids}};
  if (reference["model"].contains("popularity")) shape.log_frequency_fields = {"popularity"};
  return shape;
}

Batch recommender_batch(const nlohmann::json& reference) {
  const std::vector<std::int32_t> ids = reference["ids"];
  const std::vector<double> numbers = reference["numbers"];
  Batch batch{.examples = std::ssize(reference["losses"]),
              .features = {numbers.begin(), numbers.end()},
              .labels = {},
              .targets = {}};
  batch.ids = ids;
  if (!is_two_tower(reference)) {
    for (std::int32_t i = 0; i < batch.examples; ++i) batch.labels.push_back(i % 2);
    return batch;
  }
  batch.ids.clear();  // field after field
  for (std::size_t field = 0; field < 2; ++field) {
    for (std::size_t i = field; i < ids.size(); i += 2) batch.ids.push_back(ids[i]);
  }
  return batch;
}

double start_of_row(const RowWidths& widths, std::int64_t row, std::int64_t column) {
  const std::int64_t table = table_of(row);
  const std::int64_t place = id_in_table(row) * widths.of_table(table) + column;
  return hashed(static_cast<std::uint64_t>(place), 500 + static_cast<std::uint64_t>(table));
}

void fill_rows(RowBatch& rows, const RowWidths& widths) {
  std::size_t at = 0;
  for (const std::int64_t row : rows.ids()) {
    for (std::int64_t column = 0; column < widths.of(row); ++column) {
      rows.rows()[at++] = static_cast<float>(start_of_row(widths, row, column));
    }
  }
}

void check_row_gradients(const nlohmann::json& tables, const RowGradients& gradients,
                         const RowWidths& widths, double margin) {
  std::size_t at = 0;
  for (const std::int64_t row : gradients.ids) {
    const auto& expected = tables[static_cast<std::size_t>(table_of(row))]["gradient"];
    for (std::int64_t column = 0; column < widths.of(row); ++column) {
      const auto place = static_cast<std::size_t>(id_in_table(row) * widths.of(row) + column);
      CHECK(static_cast<double>(gradients.rows[at++]) ==
            Approx(expected[place].get<double>()).epsilon(1e-5).margin(margin));
    }
  }
  CHECK(at == gradients.rows.size());
}

}  // namespace

TEST_CASE("a step of each recommender of the zoo is PyTorch's", "[model][golden]") {
  const nlohmann::json golden = load_golden("recommenders.json");
  for (const auto& reference : golden["steps"]) {
    INFO(reference["model"].dump());
    const Batch batch = recommender_batch(reference);
    auto model = Model::build(recommender_of(reference["model"]), recommender_shape(reference),
                              {batch.examples});
    if (!model) FAIL(model.error().message);
    const auto variables = model->variables();
    REQUIRE(variables.size() == reference["variables"].size());
    const RowWidths widths(model->rows());
    REQUIRE(widths.tables() == std::ssize(reference["tables"]));
    for (std::size_t t = 0; t < reference["tables"].size(); ++t) {
      CHECK(widths.of_table(static_cast<std::int64_t>(t)) == reference["tables"][t]["width"]);
    }

    AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const double bound = variables[v].name.ends_with("/kernel") ? 2 : 0.2;
      for (std::int64_t i = 0; i < variables[v].elements; ++i) {
        weights.span()[static_cast<std::size_t>(variables[v].offset + i)] =
            static_cast<float>(bound * hashed(static_cast<std::uint64_t>(i), v));
      }
    }
    AlignedBuffer gradients(weights.size());
    RowBatch rows = model->row_batch();
    rows.assign(batch);
    fill_rows(rows, widths);
    const BatchResult result = model->gradient(weights.span(), batch, gradients.span(), {}, &rows);
    const model::Written written = recommender_of(reference["model"]);
    const DataShape shape = recommender_shape(reference);
    check_on_device({written, shape, batch, weights.span(), gradients.span(), result, &rows});
    double sum = 0;
    for (const double loss : reference["losses"]) sum += loss;
    CHECK(result.loss_sum == Approx(sum).epsilon(1e-5));
    constexpr double margin = 2e-5;  // of gradients around 1
    for (std::size_t v = 0; v < variables.size(); ++v) {
      INFO(variables[v].name);
      const std::vector<double> expected = reference["variables"][v];
      REQUIRE(std::ssize(expected) == variables[v].elements);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(static_cast<double>(
                  gradients.span()[static_cast<std::size_t>(variables[v].offset) + i]) ==
              Approx(expected[i]).epsilon(1e-5).margin(margin));
      }
    }
    check_row_gradients(reference["tables"], rows.gradients(), widths, margin);
  }
}

TEST_CASE("a table of the arena and one of rows give the same losses and gradients", "[model]") {
  const auto written = [](const char* storage) {
    model::Layer table = model::op("embedding", {{"size", 3}, {"storage", storage}});
    table.in = {"x"};
    return model::Model{.inputs = {{"x", "item"}},
                        .layers = {table, model::op("flatten"), model::op("dense", {{"units", 2}})},
                        .losses = {{.op = "softmax_cross_entropy"}}};
  };
  DataShape shape{.example = {0}, .classes = 2, .layout = FeatureLayout::columns};
  shape.id_fields = {{.name = "item", .example = {2}, .ids = 4},
                     {.name = "other", .example = {}, .ids = 9}};
  Batch batch{.examples = 3, .features = {}, .labels = {1, 0, 1}, .targets = {}};
  batch.ids = {0, 2, 2, 3, 0, 0, 8, 7, 6};
  auto arena = Model::build(written("arena"), shape, {3});
  auto on_ps = Model::build(written("rows"), shape, {3});
  REQUIRE(arena);
  REQUIRE(on_ps);
  AlignedBuffer weights(static_cast<std::size_t>(arena->arena_elements()));
  arena->initialize(3, weights.span());
  AlignedBuffer gradients(weights.size());
  const double expected = arena->gradient(weights.span(), batch, gradients.span()).loss_sum;

  const Variable& table = arena->variables()[0];
  REQUIRE(table.elements == 12);
  AlignedBuffer rest(static_cast<std::size_t>(on_ps->arena_elements()));
  const auto shift = static_cast<std::size_t>(arena->variables()[1].offset);
  std::copy_n(weights.data() + shift, rest.size(), rest.data());
  RowBatch rows = on_ps->row_batch();
  rows.assign(batch);
  const std::vector<std::int64_t> read{0, 2, 3};
  REQUIRE(std::ranges::equal(rows.ids(), read));
  for (std::size_t i = 0; i < 3; ++i) {
    std::copy_n(weights.data() + 3 * read[i], 3, rows.rows().data() + 3 * i);
  }
  AlignedBuffer rest_gradients(rest.size());
  CHECK(on_ps->gradient(rest.span(), batch, rest_gradients.span(), {}, &rows).loss_sum == expected);
  CHECK(std::ranges::equal(rest_gradients.span(), gradients.span().subspan(shift, rest.size())));
  const RowGradients of_rows = rows.gradients();
  for (std::size_t i = 0; i < 3; ++i) {
    const float* const wanted = gradients.data() + 3 * read[i];
    CHECK(
        std::equal(wanted, wanted + 3, of_rows.rows.begin() + static_cast<std::ptrdiff_t>(3 * i)));
  }
}

TEST_CASE("the area under the curve is that of all pairs, whatever the batches", "[metrics]") {
  const std::vector<float> scores = random_floats(500, 3);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < scores.size(); ++i) labels.push_back(scores[i] + scores[499 - i] > 0);
  double right = 0;
  double pairs = 0;
  for (std::size_t a = 0; a < scores.size(); ++a) {
    for (std::size_t b = 0; b < scores.size(); ++b) {
      if (labels[a] != 1 || labels[b] != 0) continue;
      ++pairs;
      right += scores[a] > scores[b] ? 1 : scores[a] == scores[b] ? 0.5 : 0;
    }
  }
  ScoreCounts all;
  CHECK_FALSE(all.has_both());
  all.add(scores, labels);
  REQUIRE(all.has_both());
  CHECK(all.area() == Approx(right / pairs).margin(1e-4));
  ScoreCounts left;
  ScoreCounts rest;
  left.add(std::span(scores).first(123), std::span(labels).first(123));
  rest.add(std::span(scores).subspan(123), std::span(labels).subspan(123));
  left += rest;
  CHECK(left == all);
  ScoreCounts equal;
  equal.add(std::vector<float>{2, 2, 2}, std::vector<std::int32_t>{0, 1, 1});
  CHECK(equal.area() == 0.5);
  ScoreCounts sure;
  sure.add(std::vector<float>{-90, 90, 1e30F, -1e30F}, std::vector<std::int32_t>{0, 1, 1, 0});
  CHECK(sure.area() == 1);
}

TEST_CASE("a model reads each field of numbers by itself", "[model]") {
  model::Layer numbers = model::op("reduce", {{"kind", "sum"}});
  numbers.in = {"n"};
  model::Layer score = model::op("sub");
  score.in = {"q", "-"};
  model::Layer weight = model::op("embedding", {{"size", 1}});
  weight.in = {"i"};
  weight.name = "w";
  model::Layer sum = model::op("add");
  sum.in = {"w", "score"};
  score.name = "score";
  const model::Model written{.inputs = {{"n", "numeric"}, {"q", "second"}, {"i", "item"}},
                             .layers = {numbers, score, weight, sum},
                             .losses = {{.op = "squared_error"}}};
  DataShape shape{.example = {4}, .features = 4, .layout = FeatureLayout::columns};
  shape.id_fields = {{.name = "item", .example = {}, .ids = 4}};
  shape.log_frequency_fields = {"first", "second"};
  auto model = Model::build(written, shape, {2});
  if (!model) FAIL(model.error().message);
  Batch batch{.examples = 2,
              .features = {1, 2, 3, 40, 5, 6, 7, 80},
              .labels = {},
              .targets = {40 - (1 + 2) + 2, 80 - (5 + 6) - 1}};
  batch.ids = {0, 1};
  const AlignedBuffer zeros(static_cast<std::size_t>(model->arena_elements()));
  CHECK(model->evaluate(zeros.span(), batch).loss_sum == 2 * 2 + 1 * 1);
}

TEST_CASE("two towers compare no more examples than their scores have room for", "[model]") {
  const nlohmann::json reference = load_golden("recommenders.json")["steps"][2];
  const auto model =
      Model::build(recommender_of(reference["model"]), recommender_shape(reference), {20'000});
  REQUIRE_FALSE(model);
  CHECK_THAT(model.error().message, Catch::Contains("16384 at most"));
}

}  // namespace trainyard::runtime
