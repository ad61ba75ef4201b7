#include "tests/support/gpu_double/shown_gpus.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace trainyard::gpu_double {

ShownGpus shown_in(const std::filesystem::path& file) {
  std::ifstream lines(file);
  if (!lines) throw std::runtime_error("a double of the tests, without " + file.string());
  ShownGpus shown;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "gpu") {
      ShownGpu& gpu = shown.gpus.emplace_back();
      words >> gpu.uuid >> gpu.memory_mb >> gpu.major >> gpu.minor >> std::ws;
      std::getline(words, gpu.name);
    } else if (kind == "driver") {
      words >> shown.driver_major >> shown.driver_minor;
    } else if (kind == "build") {
      words >> shown.build;
    } else if (kind == "toolkit") {
      words >> std::ws;
      std::getline(words, shown.toolkit);
    } else if (kind == "libraries") {
      for (ShownGpu& gpu : shown.gpus) gpu.has_libraries = true;
    } else if (kind == "broadcasts") {
      shown.broadcasts = true;
    } else {
      words.setstate(std::ios::failbit);
    }
    if (!words) throw std::runtime_error(file.string() + ": \"" + line + "\"");
  }
  return shown;
}

std::vector<ShownGpu> visible_of(const std::vector<ShownGpu>& gpus, const char* visible) {
  if (visible == nullptr) return gpus;
  std::vector<ShownGpu> seen;
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    auto found = std::ranges::find(gpus, word, &ShownGpu::uuid);
    for (std::size_t i = 0; found == gpus.end() && i < gpus.size(); ++i) {
      if (word == std::to_string(i)) found = gpus.begin() + static_cast<std::ptrdiff_t>(i);
    }
    if (found == gpus.end()) break;
    seen.push_back(*found);
  }
  return seen;
}

}  // namespace trainyard::gpu_double
