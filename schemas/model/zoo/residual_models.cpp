// Residual networks (He et al. 2015), with torchvision's layers: in a bottleneck the 3 x 3
// convolution has the stride.
#include <array>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

using Depths = std::array<int, 4>;  // blocks in each stage

struct Convolution {
  Value filters;
  int kernel = 3;
  Value stride = 1;
};

// A convolution and its batch norm; padded so that without a stride the image keeps its size.
void add_convolution(Layers& layers, const Convolution& convolution) {
  Layer conv = op("conv2d", {{"filters", convolution.filters}, {"kernel", convolution.kernel}});
  if (!(convolution.stride == Value(1))) conv.arguments.push_back({"stride", convolution.stride});
  if (convolution.kernel > 1) conv.arguments.push_back({"padding", convolution.kernel / 2});
  conv.arguments.push_back({"bias", false});
  layers.push_back(std::move(conv));
  layers.push_back(op("batch_norm"));
}

Layers convolutions(const std::vector<Convolution>& list) {
  Layers layers;
  for (const Convolution& convolution : list) {
    if (!layers.empty()) layers.push_back(op("relu"));
    add_convolution(layers, convolution);
  }
  return layers;
}

// {"basic", "down"}: of two convolutions; down has half the size.
std::vector<Block> basic_blocks() {
  return {{.name = "basic",
           .parameters = {"f"},
           .layers = {residual(convolutions({{"$f"}, {"$f"}})), op("relu")}},
          {.name = "down",
           .parameters = {"f"},
           .layers = {residual(convolutions({{"$f", 3, 2}, {"$f"}}), convolutions({{"$f", 1, 2}})),
                      op("relu")}}};
}

// {"bottleneck", "project"}: of f filters within and o outside; project changes o.
std::vector<Block> bottleneck_blocks() {
  return {{.name = "bottleneck",
           .parameters = {"f", "o"},
           .layers = {residual(convolutions({{"$f", 1}, {"$f"}, {"$o", 1}})), op("relu")}},
          {.name = "project",
           .parameters = {"f", "o", "s"},
           .layers = {residual(convolutions({{"$f", 1}, {"$f", 3, "$s"}, {"$o", 1}}),
                               convolutions({{"$o", 1, "$s"}})),
                      op("relu")}}};
}

// Several of one block, one after another.
void add_times(Layers& layers, int times, Layer block) {
  if (times == 1) {
    layers.push_back(std::move(block));
  } else if (times > 1) {
    layers.push_back(repeat(times, {std::move(block)}));
  }
}

void add_basic_stages(Layers& layers, const Depths& depths, std::int64_t width) {
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    const Value filters = from("width", width << stage);
    const int downs = stage == 0 ? 0 : 1;
    add_times(layers, downs, use("down", {{"f", filters}}));
    add_times(layers, depths[stage] - downs, use("basic", {{"f", filters}}));
  }
}

void add_bottleneck_stages(Layers& layers, const Depths& depths, std::int64_t width) {
  constexpr std::int64_t expansion = 4;
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    const Value within = from("width", width << stage);
    const Value outside = from("width", expansion * (width << stage));
    const int stride = stage == 0 ? 1 : 2;
    layers.push_back(use("project", {{"f", within}, {"o", outside}, {"s", stride}}));
    add_times(layers, depths[stage] - 1, use("bottleneck", {{"f", within}, {"o", outside}}));
  }
}

// imagenet's makes a quarter of the size, cifar's keeps it.
Layers stem(const ZooArguments& arguments) {
  const bool is_large = arguments.text("stem") == "imagenet";
  Layers layers;
  add_convolution(layers, {arguments.value("width"), is_large ? 7 : 3, is_large ? 2 : 1});
  layers.push_back(op("relu"));
  if (is_large) {
    layers.push_back(op("max_pool2d", {{"size", 3}, {"stride", 2}, {"padding", 1}}));
  }
  return layers;
}

enum class Kind { basic, bottleneck };

Model resnet(const ZooArguments& arguments, Kind kind, const Depths& depths) {
  Model model{.blocks = kind == Kind::basic ? basic_blocks() : bottleneck_blocks(),
              .init = arguments.value("weight_init"),
              .layers = stem(arguments),
              .losses = {classification_loss(arguments)},
              .metrics = {{.op = "accuracy"}}};
  const std::int64_t width = arguments.integer("width");
  if (kind == Kind::basic) {
    add_basic_stages(model.layers, depths, width);
  } else {
    add_bottleneck_stages(model.layers, depths, width);
  }
  model.layers.push_back(op("global_avg_pool"));
  model.layers.push_back(dense_layer("classes"));
  return model;
}

Model resnet18(const ZooArguments& arguments, const Facts&) {
  return resnet(arguments, Kind::basic, {2, 2, 2, 2});
}

Model resnet34(const ZooArguments& arguments, const Facts&) {
  return resnet(arguments, Kind::basic, {3, 4, 6, 3});
}

Model resnet50(const ZooArguments& arguments, const Facts&) {
  return resnet(arguments, Kind::bottleneck, {3, 4, 6, 3});
}

}  // namespace

void add_residual_models(std::vector<ZooModel>& models) {
  constexpr double width_of_stage_max = 1024;  // the last stage has 8 or 32 times as many
  const std::vector<ZooArgument> arguments{
      choice_argument("stem", "The first layers: imagenet for 224 x 224, cifar for 32 x 32",
                      {"imagenet", "cifar"}),
      integer_argument("width", "Filters of the first stage; each next has twice as many", 64,
                       width_of_stage_max),
      label_smoothing_argument(0), weight_init_argument("he_normal")};
  models.push_back({.name = "resnet18",
                    .description = "A residual network of 18 layers",
                    .arguments = arguments,
                    .facts = {"classes"},
                    .make = resnet18});
  models.push_back({.name = "resnet34",
                    .description = "A residual network of 34 layers",
                    .arguments = arguments,
                    .facts = {"classes"},
                    .make = resnet34});
  models.push_back({.name = "resnet50",
                    .description = "A residual network of 50 layers, in bottlenecks",
                    .arguments = arguments,
                    .facts = {"classes"},
                    .make = resnet50});
}

}  // namespace trainyard::model
