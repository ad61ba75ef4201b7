// A tensor of an exported model that is made of trained variables. Its numbers are not here: a file
// is written from the checkpoint one weight after another, so that the memory it takes is that of
// the largest one which has to be rearranged.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schemas/model/facts.h"

namespace trainyard::onnx {

using Floats = std::vector<float>;

struct Weight {
  std::string name;                    // of the initializer
  model::Sizes shape;                  // none of them is unknown
  std::vector<std::string> variables;  // that it is made of
  // The variables' numbers, in their order -> the weight's. Without it there is one variable, whose
  // numbers are the weight's as they lie.
  std::function<Floats(std::span<const Floats>)> arrange{};
};

// x of this shape with its axes in another order, as ONNX's Transpose has it.
Floats transposed(const Floats& x, const model::Sizes& shape, const std::vector<int>& axes);

}  // namespace trainyard::onnx
