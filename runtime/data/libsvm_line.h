// One line of a LibSVM file: `label index:value index:value ... # comment`. What labels mean, and
// how far indices may go, is libsvm.h's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

struct LibsvmExample {
  double label = 0;
  std::vector<std::int32_t> columns;  // ascending, from 0: the file's indices count from 1
  std::vector<float> values;
};

// False for a line of blanks and comments alone. `invalid` says at which column of the line what
// was expected, and not what is there; a number too small for a float is 0.
Result<bool> parse_libsvm_line(std::string_view line, LibsvmExample& example);

}  // namespace trainyard::runtime
