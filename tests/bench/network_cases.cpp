#include "tests/bench/network_cases.h"

namespace trainyard::bench {
namespace {

using runtime::Batch;
using runtime::DataShape;
using runtime::FeatureLayout;
using runtime::LabelLayout;

DataShape images(const std::vector<std::int64_t>& image, std::int64_t classes = 10) {
  return {.example = image, .features = image[0] * image[1] * image[2], .classes = classes};
}

DataShape lines() {
  DataShape shape = images({32, 128, 1}, 0);
  shape.labels = LabelLayout::symbols;
  shape.symbols = 11;
  return shape;
}

DataShape tokens(std::int64_t time, std::int64_t vocabulary) {
  return {.example = {time},
          .features = time,
          .layout = FeatureLayout::ids,
          .labels = LabelLayout::tokens,
          .vocabulary = vocabulary};
}

std::int32_t drawn(std::int64_t i, std::int64_t below) {
  return static_cast<std::int32_t>((7919 * i + 13 * (i / 7)) % below);
}

}  // namespace

std::vector<NetworkCase> cases_for_cores() {
  return {{{"lenet5", 64}, images({28, 28, 1})},
          {{"cifar_cnn", 64}, images({32, 32, 3})},
          {{"resnet18", 64}, images({32, 32, 3})},
          {{"lstm", 64}, images({28, 28, 1})},
          {{"crnn", 32}, lines()},
          {{"gpt", 16}, tokens(128, 96)}};
}

std::vector<NetworkCase> cases_for_gpu() {
  return {
      {{"lenet5", 512}, images({28, 28, 1})},   {{"cifar_cnn", 512}, images({32, 32, 3})},
      {{"resnet18", 256}, images({32, 32, 3})}, {{"resnet18_224", 64}, images({224, 224, 3}, 1000)},
      {{"lstm", 512}, images({28, 28, 1})},     {{"crnn", 128}, lines()},
      {{"gpt", 64}, tokens(128, 96)},           {{"gpt2_small", 8}, tokens(1024, 50'257)}};
}

Batch drawn_batch(const NetworkCase& of) {
  constexpr int text = 4;  // symbols
  const DataShape& shape = of.data;
  const std::int64_t examples = of.peer.batch_size;
  Batch batch{.examples = examples, .features = {}, .labels = {}, .targets = {}};
  const std::int64_t numbers = examples * shape.features;
  if (shape.layout == FeatureLayout::ids) {
    batch.lengths.assign(static_cast<std::size_t>(examples),
                         static_cast<std::int32_t>(shape.example[0]));
    for (std::int64_t i = 0; i < numbers; ++i) {
      batch.ids.push_back(drawn(i, shape.vocabulary));
      batch.token_labels.push_back(drawn(i + 1, shape.vocabulary));
    }
    return batch;
  }
  for (std::int64_t i = 0; i < numbers; ++i) {
    batch.features.push_back(static_cast<float>(i * 7919 % 1009) / 1009);
  }
  if (shape.labels == LabelLayout::symbols) batch.symbol_offsets.push_back(0);
  for (std::int64_t i = 0; i < examples; ++i) {
    if (shape.labels == LabelLayout::one) {
      batch.labels.push_back(drawn(i, shape.classes));
      continue;
    }
    for (int symbol = 0; symbol < text; ++symbol) {
      batch.symbols.push_back(1 + drawn(i * text + symbol, shape.symbols - 1));
    }
    batch.symbol_offsets.push_back(static_cast<std::int32_t>(batch.symbols.size()));
  }
  return batch;
}

}  // namespace trainyard::bench
