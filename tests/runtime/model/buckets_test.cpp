// Buckets: a batch of short texts is computed on a shorter plan, and gives what it gives on the
// longest.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/culprit.h"
#include "runtime/model/model.h"
#include "runtime/model/row_batch.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t longest = 24;
constexpr std::int64_t bucket_vocabulary = 40;

DataShape texts(std::vector<std::int64_t> buckets) {
  return {.example = {longest},
          .features = longest,
          .classes = 3,
          .layout = FeatureLayout::ids,
          .vocabulary = bucket_vocabulary,
          .buckets = std::move(buckets)};
}

// Texts of these lengths, `time` ids each.
Batch texts_of(const std::vector<std::int32_t>& lengths, std::int64_t time) {
  Batch batch;
  batch.examples = std::ssize(lengths);
  batch.first_position = 1000;
  batch.lengths = lengths;
  batch.ids.assign(lengths.size() * static_cast<std::size_t>(time), 0);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    batch.labels.push_back(static_cast<std::int32_t>(row % 3));
    for (std::size_t t = 0; t < static_cast<std::size_t>(lengths[row]); ++t) {
      batch.ids[row * static_cast<std::size_t>(time) + t] =
          static_cast<std::int32_t>((row * 31 + t * t * 7 + 1) % bucket_vocabulary);
    }
  }
  return batch;
}

model::Layer bucket_layer(const char* op, model::Arguments arguments = {}) {
  return {.what = model::OpLayer{op}, .arguments = std::move(arguments)};
}

// Attention with learned positions and dropout of all kinds; its first step says the class.
model::Written attentive() {
  return model::Model{
      .layers = {bucket_layer("embedding", {{"size", 12}}), bucket_layer("positions"),
                 bucket_layer("dropout", {{"rate", 0.3}}), bucket_layer("layer_norm"),
                 bucket_layer("attention", {{"heads", 3}, {"dropout", 0.25}}), bucket_layer("gelu"),
                 bucket_layer("slice", {{"axis", 0}, {"begin", 0}, {"size", 1}}),
                 bucket_layer("flatten"), bucket_layer("dense", {{"units", 3}})},
      .losses = {{.op = "softmax_cross_entropy"}},
      .metrics = {{.op = "accuracy"}}};
}

// Words whose embeddings are rows of a table.
model::Written rows_of_words() {
  return model::Model{
      .layers = {bucket_layer("embedding", {{"size", 8}, {"storage", "rows"}}),
                 bucket_layer("lstm", {{"units", 6}}), bucket_layer("dense", {{"units", 3}})},
      .losses = {{.op = "softmax_cross_entropy"}}};
}

struct Outcome {
  double loss = 0;
  double test_loss = 0;
  std::vector<float> gradients;
};

Outcome outcome_of(Model& model, const Batch& batch) {
  AlignedBuffer weights(static_cast<std::size_t>(model.arena_elements()));
  AlignedBuffer gradients(weights.size());
  std::ranges::fill(gradients.span(), 1e9F);  // what is not written is seen
  model.initialize(5, weights.span());
  Outcome outcome;
  RowBatch rows = model.row_batch();
  RowBatch* const table = model.rows().empty() ? nullptr : &rows;
  if (table != nullptr) {
    rows.assign(batch);
    const std::size_t width = rows.rows().size() / rows.ids().size();
    for (std::size_t i = 0; i < rows.rows().size(); ++i) {  // by id: padding may be one of them
      rows.rows()[i] = 0.1F * static_cast<float>((rows.ids()[i / width] * 5 + i % width) % 7);
    }
  }
  outcome.loss = model.gradient(weights.span(), batch, gradients.span(), {}, table).loss_sum;
  outcome.test_loss = model.evaluate(weights.span(), batch, table).loss_sum;
  outcome.gradients = {gradients.span().begin(), gradients.span().end()};
  return outcome;
}

std::string refusal_of(const model::Written& written) {
  const auto model = Model::build(written, texts({8, longest}), {.batch_size = 2});
  return model ? "" : model.error().message;
}

}  // namespace

TEST_CASE("a batch costs the products of its bucket", "[model]") {
  auto model = Model::build(rows_of_words(), texts({4, 9, longest}), {.batch_size = 5, .seed = 9});
  REQUIRE(model);
  CHECK(model->take_step_flops() == 0);
  // Forward once, backward twice: four gates of 6 numbers read 8 and 6 at each step, then a layer.
  const auto of_length = [](int length) { return 3.0 * (2 * length * 24 * (8 + 6) + 2 * 6 * 3); };
  outcome_of(*model, texts_of({9, 1, 5}, 9));  // and an evaluation, which is no part of it
  CHECK(model->take_step_flops() == of_length(9));
  CHECK(model->take_step_flops() == 0);
  outcome_of(*model, texts_of({1, 4, 2, 3, 1}, 4));
  outcome_of(*model, texts_of({4, 24, 10}, longest));
  CHECK(model->take_step_flops() == Approx((5 * of_length(4) + 3 * of_length(longest)) / 8));

  auto whole = Model::build(rows_of_words(), texts({}), {.batch_size = 5, .seed = 9});
  REQUIRE(whole);
  outcome_of(*whole, texts_of({1, 4}, longest));
  CHECK(whole->take_step_flops() == of_length(longest));
}

TEST_CASE("losses and gradients are the same with buckets and without", "[model]") {
  const std::vector<model::Written> models{
      models::zoo("lstm_classifier", {{"embedding_size", 8}, {"units", 6}, {"depth", 2}}),
      models::zoo("gru_classifier", {{"embedding_size", 8}, {"units", 6}}), attentive(),
      rows_of_words()};
  for (const model::Written& written : models) {
    const ModelSetting setting{.batch_size = 5, .seed = 9};
    auto whole = Model::build(written, texts({}), setting);
    auto bucketed = Model::build(written, texts({4, 9, longest}), setting);
    REQUIRE(whole);
    REQUIRE(bucketed);
    REQUIRE(whole->arena_elements() == bucketed->arena_elements());
    for (const auto& [lengths, time] : std::vector<std::pair<std::vector<std::int32_t>, int>>{
             {{1, 4, 2, 3, 1}, 4}, {{9, 1, 5}, 9}, {{4, 24, 10, 1}, longest}, {{3, 3}, 9}}) {
      const Outcome expected = outcome_of(*whole, texts_of(lengths, longest));
      const Outcome found = outcome_of(*bucketed, texts_of(lengths, time));
      INFO("a bucket of " << time);
      CHECK(std::fabs(found.loss - expected.loss) <= 1e-6 * std::fabs(expected.loss));
      CHECK(std::fabs(found.test_loss - expected.test_loss) <= 1e-6 * expected.test_loss);
      double off = 0;
      double largest = 0;
      for (std::size_t i = 0; i < found.gradients.size(); ++i) {
        off = std::max(off, std::fabs(double{found.gradients[i]} - double{expected.gradients[i]}));
        largest = std::max(largest, std::fabs(double{expected.gradients[i]}));
      }
      CHECK(off <= 2e-6 * largest);
    }
  }
}

TEST_CASE("a model that sees padding has one length", "[model]") {
  using Catch::Matchers::Contains;
  const auto with = [](const model::Layer& layer) {
    return model::Model{.layers = {bucket_layer("embedding", {{"size", 6}}), layer,
                                   bucket_layer("flatten"), bucket_layer("dense", {{"units", 3}})},
                        .losses = {{.op = "softmax_cross_entropy"}}};
  };
  CHECK_THAT(
      refusal_of(with(bucket_layer("reduce", {{"kind", "mean"}, {"axes", model::Value::List{0}}}))),
      Contains("dataset.buckets") && Contains("reduce_0") && Contains("padding"));
  CHECK_THAT(refusal_of(with(
                 bucket_layer("conv1d", {{"filters", 4}, {"kernel", 3}, {"padding", "same"}}))),
             Contains("conv1d_0"));
  CHECK_THAT(refusal_of(with(bucket_layer("relu"))), Contains("flatten_0"));
  CHECK(refusal_of(with(bucket_layer("lstm", {{"units", 4}}))).empty());
}

TEST_CASE("where a step of a short batch stopped being a number is found", "[model]") {
  const model::Written written =
      models::zoo("lstm_classifier", {{"embedding_size", 8}, {"units", 6}});
  const DataShape shape = texts({4, longest});
  auto model = Model::build(written, shape, {.batch_size = 2});
  REQUIRE(model);
  AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));
  weights.data()[0] = std::numeric_limits<float>::infinity();
  const Batch batch = texts_of({2, 3}, 4);
  CHECK_THAT(first_not_finite(
                 {.model = written, .data = shape, .parameters = weights.span(), .batch = batch}),
             Catch::Matchers::Contains("embedding_0/kernel"));
}

}  // namespace trainyard::runtime
