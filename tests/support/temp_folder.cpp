#include "tests/support/temp_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace trainyard {

namespace fs = std::filesystem;

TempFolder::TempFolder() : TempFolder(fs::temp_directory_path().string()) {}

TempFolder::TempFolder(const std::string& parent) : path_(parent + "/trainyard-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no new folder in " + parent);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempFolder::write(const std::string& name, std::string_view content) const {
  write_content(path(name), content);
  return path(name);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_content(const std::string& path, std::string_view content) {
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!(file << content).flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace trainyard
