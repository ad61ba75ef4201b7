// Recurrent networks: classifiers of token lists, and the reader of text lines (Shi et al.: "An
// end-to-end trainable neural network for image-based sequence recognition", 2015).
#include <algorithm>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

constexpr double stacked_max = 16;

struct Recurrence {
  const char* op = "lstm";
  const char* last_output = "last";  // of the last layer; the others give all
};

void add_recurrence(Layers& layers, const Recurrence& recurrence, const ZooArguments& arguments) {
  const std::int64_t count = arguments.integer("depth");
  for (std::int64_t i = 0; i < count; ++i) {
    layers.push_back(
        op(recurrence.op, {{"units", arguments.value("units")},
                           {"direction", arguments.value("direction")},
                           {"output", i + 1 < count ? "all" : recurrence.last_output}}));
  }
}

Model classifier(const ZooArguments& arguments, const char* cell) {
  Layers layers{op("embedding", {{"size", arguments.value("embedding_size")}})};
  add_dropout(layers, arguments.value("embedding_dropout"));
  add_recurrence(layers, {.op = cell}, arguments);
  add_dropout(layers, arguments.value("dropout"));
  layers.push_back(dense_layer("classes"));
  return {.layers = std::move(layers),
          .losses = {classification_loss(arguments)},
          .metrics = {{.op = "accuracy"}}};
}

Model lstm_classifier(const ZooArguments& arguments, const Facts&) {
  return classifier(arguments, "lstm");
}

Model gru_classifier(const ZooArguments& arguments, const Facts&) {
  return classifier(arguments, "gru");
}

// Of the image that the data set gives; 32, where only its files tell that.
std::int64_t height_of_lines(const Facts& facts) {
  constexpr std::int64_t standard = 32;
  for (const Field& field : facts.fields) {
    if (field.shape && field.shape->size() == 3 && field.shape->front() > 0) {
      return field.shape->front();
    }
  }
  return standard;
}

// An image [height, width, channels] becomes a sequence of a quarter of its width: height is halved
// three times, width twice.
Model crnn(const ZooArguments& arguments, const Facts& facts) {
  constexpr int filters_last = 128;
  const auto conv = [](int filters) {
    return op("conv2d",
              {{"filters", filters}, {"kernel", 3}, {"padding", 1}, {"activation", "relu"}});
  };
  const auto pool = [](Value size) { return op("max_pool2d", {{"size", std::move(size)}}); };
  const std::int64_t rows = std::max<std::int64_t>(1, height_of_lines(facts) / 8);
  Layers layers{conv(32),
                pool(2),
                conv(64),
                pool(2),
                conv(filters_last),
                pool(Value::List{2, 1}),
                op("transpose", {{"axes", Value::List{1, 0, 2}}}),
                op("reshape", {{"shape", Value::List{-1, filters_last * rows}}})};
  add_recurrence(layers, {.last_output = "all"}, arguments);
  layers.push_back(named("scores", dense_layer("symbols")));
  return {.layers = std::move(layers),
          .losses = {{.op = "ctc", .in = {"scores"}, .arguments = {{"blank", 0}}}},
          .metrics = {{.op = "edit_distance"}, {.op = "sequence_accuracy"}}};
}

std::vector<ZooArgument> recurrence_arguments() {
  return {integer_argument("units", "Of a recurrent layer, in each direction", 128, width_max),
          integer_argument("depth", "Recurrent layers, one above another", 1, stacked_max),
          choice_argument("direction", "In which the sequence is read", {"both", "forward"})};
}

std::vector<ZooArgument> classifier_arguments() {
  std::vector<ZooArgument> arguments{
      integer_argument("embedding_size", "Numbers in a token's embedding", 128, 4096),
      rate_argument("embedding_dropout", "Behind the embedding", 0.2)};
  std::ranges::move(recurrence_arguments(), std::back_inserter(arguments));
  arguments.push_back(rate_argument("dropout", "Behind the recurrent layers", 0.5));
  arguments.push_back(label_smoothing_argument(0));
  return arguments;
}

}  // namespace

void add_recurrent_models(std::vector<ZooModel>& models) {
  models.push_back({.name = "lstm_classifier",
                    .description = "Embeddings of tokens, an LSTM, a class for the whole text",
                    .arguments = classifier_arguments(),
                    .facts = {"vocabulary", "classes"},
                    .make = lstm_classifier});
  models.push_back({.name = "gru_classifier",
                    .description = "Embeddings of tokens, a GRU, a class for the whole text",
                    .arguments = classifier_arguments(),
                    .facts = {"vocabulary", "classes"},
                    .make = gru_classifier});
  models.push_back({.name = "crnn",
                    .description = "Reads images of text lines: convolutions, an LSTM, and CTC",
                    .arguments = recurrence_arguments(),
                    .facts = {"symbols"},
                    .make = crnn});
}

}  // namespace trainyard::model
