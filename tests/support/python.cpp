#include "tests/support/python.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace trainyard {

Printed run_printing(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  Printed printed;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
    printed.output.append(piece.data(), count);
  }
  printed.status = ::pclose(pipe);
  return printed;
}

std::string python_with(const std::string& modules) {
  for (const char* const each : {"python3", "/usr/bin/python3"}) {
    const std::string command = std::string(each) + " -c 'import " + modules + "'";
    if (run_printing(command).status == 0) return each;
  }
  return "";
}

}  // namespace trainyard
