// The variables of models that everybody knows, in the order in which TensorFlow makes them: what
// divisions of parameters are judged by.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/variable.h"

namespace trainyard::runtime::test {

// Laid out as in a model's arena: each begins at a cache line.
class KnownModel {
 public:
  explicit KnownModel(std::string name) : name_(std::move(name)) {}

  KnownModel& add(std::vector<std::int64_t> shape) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape) elements *= size;
    variables_.push_back({.name = "variable_" + std::to_string(variables_.size()),
                          .shape = std::move(shape),
                          .offset = arena_elements_,
                          .elements = elements});
    arena_elements_ += (elements + 15) / 16 * 16;
    return *this;
  }
  // A kernel, and a bias for each of its last dimension.
  KnownModel& add_with_bias(const std::vector<std::int64_t>& kernel) {
    return add(kernel).add({kernel.back()});
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }
  [[nodiscard]] std::int64_t arena_elements() const { return arena_elements_; }

 private:
  std::string name_;
  std::vector<Variable> variables_;
  std::int64_t arena_elements_ = 0;
};

inline KnownModel mlp(const std::string& name, const std::vector<std::int64_t>& widths) {
  KnownModel model(name);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    model.add_with_bias({widths[i], widths[i + 1]});
  }
  return model;
}

// K. Simonyan, A. Zisserman, Very Deep Convolutional Networks, 2014, configuration D: 138 million.
inline KnownModel vgg_16() {
  KnownModel model("VGG-16");
  std::int64_t in = 3;
  for (const std::int64_t out : {64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512}) {
    model.add_with_bias({3, 3, in, out});
    in = out;
  }
  return model.add_with_bias({25'088, 4096})
      .add_with_bias({4096, 4096})
      .add_with_bias({4096, 1000});
}

// J. Devlin et al., BERT, 2018, large: 335 million.
inline KnownModel bert_large() {
  constexpr std::int64_t width = 1024;
  KnownModel model("BERT-large");
  const auto norm = [&model] { model.add({width}).add({width}); };
  model.add({30'522, width}).add({2, width}).add({512, width});
  norm();
  for (int layer = 0; layer < 24; ++layer) {
    for (int i = 0; i < 4; ++i) model.add_with_bias({width, width});  // query, key, value, output
    norm();
    model.add_with_bias({width, 4 * width}).add_with_bias({4 * width, width});
    norm();
  }
  return model.add_with_bias({width, width});
}

// All of them are over 16 MiB.
inline std::vector<KnownModel> large_models() {
  return {vgg_16(), bert_large(), mlp("MLP 784-2048-2048-10", {784, 2048, 2048, 10}),
          mlp("MLP 784-8192-8192-8192-10", {784, 8192, 8192, 8192, 10})};
}

}  // namespace trainyard::runtime::test
