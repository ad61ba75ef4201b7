// Good and bad data sets of images.
#include "tests/schemas/wire/spec_corpus.h"

namespace trainyard {
namespace {

std::string on_data(const std::string& dataset) {
  return R"({"model": "mlp", "dataset": {)" + dataset + "}}";
}

std::string on_cifar(const std::string& members) {
  return on_data(R"("name": "cifar10", "path": "/d", )" + members);
}

std::string on_folder(const std::string& members) {
  return on_data(R"("name": "birds", "format": "image_folder", "path": "/d", )" + members);
}

std::string augmented_by(const std::string& ops) {
  return on_data(R"("name": "synthetic_digits", "augment": [)" + ops + "]");
}

constexpr auto cannot_say = SpecCase::Schema::cannot_say;

}  // namespace

std::vector<SpecCase> bad_images() {
  std::string many = R"({"op": "flip"})";
  for (int i = 0; i < 16; ++i) many += R"(, {"op": "flip"})";
  return {
      {on_data(R"("name": "cifar10")"), {"/dataset/path"}},
      {on_cifar(R"("labels": "both")"), {"/dataset/labels"}},
      {on_cifar(R"("size": [32, 32], "channels": 3)"), {"/dataset/channels", "/dataset/size"}},
      {on_cifar(R"("test_fraction": 0.5)"), {"/dataset/test_fraction"}},
      {on_data(R"("name": "mnist", "path": "/d", "labels": "fine")"), {"/dataset/labels"}},
      {on_data(R"("name": "x", "format": "image_folder", "path": "/d")"), {"/dataset/size"}},
      {on_data(R"("name": "x", "format": "image_folder", "size": [3, 4])"), {"/dataset/path"}},
      {on_folder(R"("size": 32)"), {"/dataset/size"}},
      {on_folder(R"("size": [32])"), {"/dataset/size"}},
      {on_folder(R"("size": [0, 2049])"), {"/dataset/size/0", "/dataset/size/1"}},
      {on_folder(R"("size": [8, 8], "channels": 2)"), {"/dataset/channels"}},
      {on_folder(R"("size": [8, 8], "channels": 4)"), {"/dataset/channels"}},
      {on_folder(R"("size": [8, 8], "test_fraction": 0)"), {"/dataset/test_fraction"}},
      {on_folder(R"("size": [8, 8], "labels": "fine")"), {"/dataset/labels"}},
      {on_folder(
           R"("size": [8, 8], "channels": 1,
                    "normalize": {"mean": [0.5, 0.5, 0.5], "stddev": 1})"),
       {"/dataset/normalize/mean"}},
      {on_cifar(R"("normalize": {"mean": [0.5, 0.5], "stddev": [0.25, 0.25, 0.25]})"),
       {"/dataset/normalize/mean"}},
      {on_cifar(R"("normalize": {"mean": 0.5})"), {"/dataset/normalize/stddev"}},
      {on_cifar(R"("normalize": {"mean": "half", "stddev": [1, 0, 1], "sd": 1})"),
       {"/dataset/normalize/mean", "/dataset/normalize/sd", "/dataset/normalize/stddev/1"}},
      {on_cifar(R"("normalize": [0.5, 0.25])"), {"/dataset/normalize"}},
      {on_data(
           R"("name": "iris", "path": "/d.csv", "normalize": {"mean": 0, "stddev": 1},
              "augment": [])"),
       {"/dataset/augment", "/dataset/normalize"}},
      {on_data(R"("name": "mnist", "path": "/d", "normalize": {"mean": [], "stddev": 1})"),
       {"/dataset/normalize/mean"}},
      {on_cifar(R"("augment": {"op": "flip"})"), {"/dataset/augment"}},
      {augmented_by(many), {"/dataset/augment"}},
      {augmented_by(R"("flip", {"axis": "width"}, {"op": "turn"})"),
       {"/dataset/augment/0", "/dataset/augment/1/op", "/dataset/augment/2/op"}},
      {augmented_by(R"({"op": "crop"}, {"op": "crop", "padding": 0}, {"op": "cutout"})"),
       {"/dataset/augment/0/padding", "/dataset/augment/1/padding", "/dataset/augment/2/size"}},
      {augmented_by(R"({"op": "flip", "axis": "depth"}, {"op": "flip", "padding": 2})"),
       {"/dataset/augment/0/axis", "/dataset/augment/1/padding"}},
      {augmented_by(R"({"op": "brightness", "amount": 1.5}, {"op": "brightness"})"),
       {"/dataset/augment/0/amount", "/dataset/augment/1/amount"}},
      {augmented_by(R"({"op": "random_resized_crop", "scale": 0.5},
                       {"op": "random_resized_crop", "scale": [0, 1]})"),
       {"/dataset/augment/0/scale", "/dataset/augment/1/scale/0"}},
      {augmented_by(R"({"op": "random_resized_crop", "scale": [0.9, 0.1]})"),
       {"/dataset/augment/0/scale"},
       cannot_say},
      {R"({"model": {"name": "linear_regression"},
           "dataset": {"name": "cifar10", "path": "/d"}})",
       {"/model"}},
      {R"({"model": {"name": "linear_regression"},
           "dataset": {"name": "b", "format": "image_folder", "path": "/d", "size": [4, 4]}})",
       {"/model"}},
      {R"({"model": "wide_and_deep", "dataset": {"name": "cifar10", "path": "/d"}})",
       {"/model", "/model"}},
  };
}

std::vector<SpecCase> good_images() {
  return {
      {on_cifar(R"("labels": "fine", "train_examples": 100)"), {}},
      {on_data(R"("name": "mine", "format": "cifar", "path": "/d", "labels": "coarse")"), {}},
      {on_cifar(R"("normalize": {"mean": [0.491, 0.482, 0.447], "stddev": [0.247, 0.243, 0.262]},
                   "augment": [{"op": "crop", "padding": 4}, {"op": "flip", "axis": "width"}])"),
       {}},
      {on_cifar(R"("normalize": {"mean": 0.5, "stddev": [0.25]}, "augment": [])"), {}},
      {on_folder(R"("size": [224, 192])"), {}},
      {on_folder(R"("size": [28, 28], "channels": 1, "test_fraction": 0.1,
                    "normalize": {"mean": [0.5], "stddev": 0.5})"),
       {}},
      {on_data(R"("name": "mnist", "path": "/d", "normalize": {"mean": 0.13, "stddev": 0.31})"),
       {}},
      {augmented_by(R"({"op": "random_resized_crop", "scale": [0.25, 1.0]}, {"op": "flip"},
                       {"op": "random_resized_crop"}, {"op": "cutout", "size": 7},
                       {"op": "brightness", "amount": 0.4})"),
       {}},
      {R"({"model": "logistic_regression",
           "dataset": {"name": "b", "format": "image_folder", "path": "/d", "size": [4, 4]}})",
       {}},
  };
}

}  // namespace trainyard
