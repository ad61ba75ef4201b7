// A variable: a named range of the flat arena of parameters, and how it changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::runtime {

// What a step does to a variable.
enum class UpdateRule {
  optimizer,        // by its gradient
  running_average,  // by what stands in its gradient's place: v += momentum * (mean of it - v)
  none,             // it is frozen
};

struct Variable {
  std::string name;  // "dense_0/kernel" [in, out], "dense_0/bias" [out], from the input on
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // elements from the arena's start; variables are 16-element aligned
  std::int64_t elements = 0;
  UpdateRule update = UpdateRule::optimizer;
  double momentum = 0;  // of a running average
};

}  // namespace trainyard::runtime
