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

// So that there is something to learn: of a class all images look alike, but for noise, and texts
// have words of their own.
void draw_images(Random& random, const Trained& of, Batch& batch) {
  const std::int64_t each = of.data.features;
  batch.features = some_floats(random, of.examples * each);
  for (std::int64_t i = 0; i < std::ssize(batch.labels); ++i) {
    Random of_class(1000 + static_cast<std::uint64_t>(batch.labels[static_cast<std::size_t>(i)]));
    const std::vector<float> likeness = some_floats(of_class, each);
    for (std::int64_t k = 0; k < each; ++k) {
      batch.features[static_cast<std::size_t>(i * each + k)] +=
          likeness[static_cast<std::size_t>(k)];
    }
  }
}

void draw_texts(Random& random, const Trained& of, Batch& batch) {
  for (std::int64_t i = 0; i < of.examples; ++i) {
    for (std::int64_t k = 0; k < of.data.features; ++k) {
      const std::int64_t word =
          batch.labels.empty()
              ? some_number(random, 1, of.data.vocabulary - 1)
              : 8 * batch.labels[static_cast<std::size_t>(i)] + some_number(random, 1, 8);
      batch.ids.push_back(static_cast<std::int32_t>(word));
    }
    batch.lengths.push_back(static_cast<std::int32_t>(of.data.features));
  }
}

}  // namespace

std::vector<Trained> networks() {
  const auto gpt = models::zoo(
      "gpt",
      {{"depth", std::int64_t{4}}, {"width", std::int64_t{256}}, {"heads", std::int64_t{4}}});
  return {{"mlp", models::mlp({512, 256}, "relu"), images(28, 28, 1), 512, 0.01},
          {"lenet5", models::zoo("lenet5"), images(28, 28, 1), 64, 0.01},
          {"cifar_cnn", models::zoo("cifar_cnn"), images(32, 32, 3), 64, 0.01},
          {"resnet18", models::zoo("resnet18", {{"stem", std::string("cifar")}}), images(32, 32, 3),
           32, 0.01},
          {"lstm", models::zoo("lstm_classifier"), texts(64, 5000, LabelLayout::one), 64, 0.5},
          {"crnn", models::zoo("crnn"), lines(), 32, 0.01},
          {"gpt", gpt, texts(128, 256, LabelLayout::tokens), 16, 0.0002}};
}

Batch batch_of(const Trained& of, int step) {
  Random random(static_cast<std::uint64_t>(step) + 1);
  Batch batch{.examples = of.examples, .features = {}, .labels = {}, .targets = {}};
  batch.first_position = static_cast<std::uint64_t>(step * of.examples);
  for (std::int64_t i = 0; i < of.examples && of.data.labels == LabelLayout::one; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, of.data.classes - 1)));
  }
  if (of.data.layout == FeatureLayout::ids) {
    draw_texts(random, of, batch);
  } else {
    draw_images(random, of, batch);
  }
  if (of.data.labels == LabelLayout::tokens) batch.token_labels = batch.ids;
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
