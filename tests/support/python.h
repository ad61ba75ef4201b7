// Programs of a test in Python, and what they print.
#pragma once

#include <string>

namespace trainyard {

struct Printed {
  int status = -1;     // as of wait(2)
  std::string output;  // of both streams
};
Printed run_printing(const std::string& command);

// A Python that has these modules, separated by commas; "" where none of the usual ones has.
std::string python_with(const std::string& modules);

}  // namespace trainyard
