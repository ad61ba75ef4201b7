#include "tests/conformance/program/models.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/conformance/case.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

struct Trained {
  std::string name;
  model::Written written;
  DataShape data;
  std::int64_t examples = 0;
};

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

struct Result {
  std::vector<float> parameters;
  double steps_per_second = 0;
  double loss = 0;
};

// Of gradients of one batch: two at least, and as many as half a second has room for, so that a GPU
// has left its rest.
double steps_per_second(Model& model, std::span<const float> parameters, const Batch& batch,
                        std::span<float> gradients) {
  constexpr double seconds = 0.5;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> taken{};
  int steps = 0;
  while (steps < 2 || taken.count() < seconds) {
    model.gradient(parameters, batch, gradients);
    ++steps;
    taken = std::chrono::steady_clock::now() - begin;
  }
  return steps / taken.count();
}

// Plain descent; running averages stay, for their sums are compared in the gradients that follow.
Result train(const Trained& network, Device* device, int steps) {
  const TeamSetting team{.threads = device == nullptr ? 1 : 4};  // which copy
  auto model =
      Model::build(network.written, network.data,
                   {.batch_size = network.examples, .seed = 3, .team = team, .device = device});
  if (!model) {
    std::printf("%s: %s\n", network.name.c_str(), model.error().message.c_str());
    return {};
  }
  const auto count = static_cast<std::size_t>(model->arena_elements());
  AlignedBuffer parameters(count);
  AlignedBuffer gradients(count);
  model->initialize(1, parameters.span());
  const float rate = 0.01F / static_cast<float>(network.examples);
  Result result;
  for (int step = 0; step < steps; ++step) {
    const Batch batch = batch_of(network, step);
    const BatchResult sums = model->gradient(parameters.span(), batch, gradients.span());
    result.loss = sums.loss_sum / static_cast<double>(sums.denominator);
    for (const Variable& variable : model->variables()) {
      for (std::int64_t i = variable.offset; i < variable.offset + variable.elements; ++i) {
        const auto at = static_cast<std::size_t>(i);
        parameters.data()[at] -= rate * gradients.data()[at];
      }
    }
  }
  result.parameters.assign(parameters.data(), parameters.data() + count);
  result.steps_per_second =
      steps_per_second(*model, parameters.span(), batch_of(network, 0), gradients.span());
  return result;
}

}  // namespace

int compare_models(Device& device, int steps) {
  std::printf("device: %s, %d steps\n%-10s %10s %6s %12s %12s %8s\n", device.name(), steps, "model",
              "parameters", "bytes", "CPU steps/s", "steps/s", "loss");
  int different = 0;
  for (const Trained& network : networks()) {
    const Result here = train(network, nullptr, steps);
    const Result there = train(network, &device, steps);
    const bool is_same = !here.parameters.empty() &&
                         here.parameters.size() == there.parameters.size() &&
                         std::memcmp(here.parameters.data(), there.parameters.data(),
                                     here.parameters.size() * sizeof(float)) == 0;
    different += is_same ? 0 : 1;
    std::printf("%-10s %10zu %6s %12.1f %12.1f %8.4f\n", network.name.c_str(),
                here.parameters.size(), is_same ? "equal" : "DIFFER", here.steps_per_second,
                there.steps_per_second, there.loss);
    std::fflush(stdout);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
