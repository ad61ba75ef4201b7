// A variable: a named range of the flat arena of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::runtime {

struct Variable {
  std::string name;  // "dense_0/kernel" [in, out], "dense_0/bias" [out], from the input on
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // elements from the arena's start; variables are 16-element aligned
  std::int64_t elements = 0;
};

}  // namespace trainyard::runtime
