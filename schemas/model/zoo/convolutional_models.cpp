// Convolutional networks without shortcuts: LeNet-5 (LeCun et al. 1998, with max pooling), a small
// one for CIFAR, and VGG-11 (Simonyan and Zisserman 2014).
#include <array>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

Layer max_pool() { return op("max_pool2d", {{"size", 2}}); }

Model classifier(Layers layers, const ZooArguments& arguments) {
  layers.push_back(dense_layer("classes"));
  return {.init = arguments.value("weight_init"),
          .layers = std::move(layers),
          .losses = {classification_loss(arguments)},
          .metrics = {{.op = "accuracy"}}};
}

Model lenet5(const ZooArguments& arguments, const Facts&) {
  const Value& activation = arguments.value("activation");
  const auto conv = [&](int filters, const Value& padding) {
    return op(
        "conv2d",
        {{"filters", filters}, {"kernel", 5}, {"padding", padding}, {"activation", activation}});
  };
  return classifier({conv(6, arguments.value("padding")), max_pool(), conv(16, 0), max_pool(),
                     op("flatten"), dense_layer(120, activation), dense_layer(84, activation)},
                    arguments);
}

Model cifar_cnn(const ZooArguments& arguments, const Facts&) {
  Layers layers;
  for (const std::int64_t filters : arguments.integers("filters")) {
    layers.push_back(
        op("conv2d", {{"filters", from("filters", filters)}, {"kernel", 3}, {"padding", "same"}}));
    layers.push_back(op("batch_norm"));
    layers.push_back(op("relu"));
    layers.push_back(from("filters", max_pool()));  // too many do not fit into the image
  }
  layers.push_back(op("flatten"));
  layers.push_back(dense_layer(arguments.value("units"), "relu"));
  add_dropout(layers, arguments.value("dropout"));
  Model model = classifier(std::move(layers), arguments);
  return model;
}

void add_vgg_convolution(Layers& layers, int filters, const ZooArguments& arguments) {
  Layer conv = op("conv2d", {{"filters", filters}, {"kernel", 3}, {"padding", 1}});
  const bool has_norm = arguments.flag("batch_norm");
  if (!has_norm) conv.arguments.push_back({"activation", "relu"});
  layers.push_back(std::move(conv));
  if (!has_norm) return;
  layers.push_back(op("batch_norm"));
  layers.push_back(op("relu"));
}

// Of images of 224 x 224 it has torchvision's layers; of others fewer weights in the first dense
// layer, as nothing is pooled to 7 x 7.
Model vgg11(const ZooArguments& arguments, const Facts&) {
  constexpr int pool = 0;
  constexpr std::array plan{64, pool, 128, pool, 256, 256, pool, 512, 512, pool, 512, 512, pool};
  Layers layers;
  for (const int filters : plan) {
    if (filters == pool) {
      layers.push_back(max_pool());
    } else {
      add_vgg_convolution(layers, filters, arguments);
    }
  }
  layers.push_back(op("flatten"));
  for (int i = 0; i < 2; ++i) {
    layers.push_back(dense_layer(arguments.value("units"), "relu"));
    add_dropout(layers, arguments.value("dropout"));
  }
  return classifier(std::move(layers), arguments);
}

}  // namespace

void add_convolutional_models(std::vector<ZooModel>& models) {
  const ZooArgument weight_init = weight_init_argument("he_normal");
  models.push_back(
      {.name = "lenet5",
       .description = "LeNet-5, for small gray images such as MNIST's",
       .arguments = {choice_argument("activation", "Of all layers but the last",
                                     {"relu", "tanh", "sigmoid"}),
                     {.name = "padding",
                      .description = "Pixels around the image: 2 for 28 x 28, 0 for 32 x 32",
                      .kind = ArgumentKind::integer,
                      .standard = 2,
                      .most = 2},
                     label_smoothing_argument(0),
                     weight_init},
       .facts = {"classes"},
       .make = lenet5});
  models.push_back(
      {.name = "cifar_cnn",
       .description = "Convolutions with batch norm, each halving the image, then a dense layer",
       .arguments = {widths_argument("filters", "Of each convolution, input side first", {32, 64}),
                     integer_argument("units", "Of the dense layer", 256, width_max),
                     rate_argument("dropout", "Behind the dense layer", 0.5),
                     label_smoothing_argument(0.1), weight_init},
       .facts = {"classes"},
       .make = cifar_cnn});
  models.push_back(
      {.name = "vgg11",
       .description = "VGG-11, for images of 32 x 32 or larger",
       .arguments = {integer_argument("units", "Of the two dense layers", 4096, width_max),
                     rate_argument("dropout", "Behind each dense layer", 0.5),
                     flag_argument("batch_norm", "Behind each convolution", false),
                     label_smoothing_argument(0), weight_init},
       .facts = {"classes"},
       .make = vgg11});
}

}  // namespace trainyard::model
