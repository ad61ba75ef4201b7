// Reads the reference numbers that make_golden.py wrote. Tests run in the repository's root.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace trainyard {

inline nlohmann::json load_golden(const std::string& name) {
  std::ifstream file("tests/golden/" + name);
  if (!file) throw std::runtime_error("no tests/golden/" + name + " below the current folder");
  return nlohmann::json::parse(file);
}

}  // namespace trainyard
