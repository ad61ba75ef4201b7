#include "tests/conformance/program/networks.h"

#include "tests/conformance/case.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

DataShape images(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {
      .example = {height, width, channels}, .features = height * width * channels, .classes = 10};
}

DataShape texts(std::int64_t time, std::int64_t vocabulary, LabelLayout labels) {
  return {.example = {time},
          .features = time,
          .classes = 2,
          .layout = FeatureLayout::ids,
          .labels = labels,
          .vocabulary = vocabulary};
}

DataShape lines() {
  DataShape shape = images(32, 128, 1);
  shape.classes = 0;
  shape.labels = LabelLayout::symbols;
  shape.symbols = 11;
  return shape;
}

}  // namespace

std::vector<Trained> networks() {
  const auto gpt = models::zoo(
      "gpt",
      {{"depth", std::int64_t{4}}, {"width", std::int64_t{256}}, {"heads", std::int64_t{4}}});
  return {{"mlp", models::mlp({512, 256}, "relu"), images(28, 28, 1), 512},
          {"lenet5", models::zoo("lenet5"), images(28, 28, 1), 64},
          {"cifar_cnn", models::zoo("cifar_cnn"), images(32, 32, 3), 64},
          {"resnet18", models::zoo("resnet18", {{"stem", std::string("cifar")}}), images(32, 32, 3),
           32},
          {"lstm", models::zoo("lstm_classifier"), texts(64, 5000, LabelLayout::one), 64},
          {"crnn", models::zoo("crnn"), lines(), 32},
          {"gpt", gpt, texts(128, 256, LabelLayout::tokens), 16}};
}

Batch batch_of(const Trained& of, int step) {
  Random random(static_cast<std::uint64_t>(step) + 1);
  Batch batch{.examples = of.examples, .features = {}, .labels = {}, .targets = {}};
  batch.first_position = static_cast<std::uint64_t>(step * of.examples);
  const std::int64_t numbers = of.examples * of.data.features;
  if (of.data.layout == FeatureLayout::ids) {
    for (std::int64_t i = 0; i < numbers; ++i) {
      batch.ids.push_back(
          static_cast<std::int32_t>(some_number(random, 1, of.data.vocabulary - 1)));
    }
    for (std::int64_t i = 0; i < of.examples; ++i) {
      batch.lengths.push_back(static_cast<std::int32_t>(of.data.features));
    }
  } else {
    batch.features = some_floats(random, numbers);
  }
  for (std::int64_t i = 0; i < of.examples && of.data.classes > 0; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, of.data.classes - 1)));
  }
  if (of.data.labels == LabelLayout::tokens) {
    batch.token_labels = batch.ids;
    batch.labels.clear();
  }
  if (of.data.labels == LabelLayout::symbols) {
    for (std::int64_t i = 0; i <= of.examples; ++i) {
      batch.symbol_offsets.push_back(static_cast<std::int32_t>(4 * i));
    }
    for (std::int64_t i = 0; i < 4 * of.examples; ++i) {
      batch.symbols.push_back(static_cast<std::int32_t>(some_number(random, 1, 10)));
    }
  }
  return batch;
}

}  // namespace trainyard::runtime
