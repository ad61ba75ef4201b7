// The source checks itself: every file of the repository against the rules. Runs in the
// repository's root.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/tidy/rules.h"
#include "tests/tidy/words.h"

using namespace trainyard::tidy;
namespace fs = std::filesystem;

namespace {

SourceFile read_source(const std::string& path) {
  SourceFile file{path, {}};
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

bool is_checked(const fs::path& path) {
  return lists(".h .cpp .cu .proto .ts .tsx .js .mjs .css", path.extension().string());
}

bool is_foreign(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') || lists("build node_modules generated __pycache__", name);
}

std::vector<std::string> checked_files() {
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator at("."), end; at != end; ++at) {
    if (at->is_directory()) {
      if (is_foreign(at->path())) at.disable_recursion_pending();
    } else if (is_checked(at->path())) {
      files.push_back(at->path().lexically_relative(".").generic_string());
    }
  }
  return files;
}

void report(const Findings& findings) {
  for (const Finding& finding : findings) FAIL_CHECK(to_text(finding));
}

}  // namespace

TEST_CASE("every source file keeps the rules", "[tidy]") {
  const std::vector<std::string> files = checked_files();
  REQUIRE(files.size() > 100);  // else this runs in the wrong folder
  for (const std::string& path : files) report(check_file(read_source(path)));
}

TEST_CASE("CMake's targets depend on nothing that the layer table forbids", "[tidy]") {
  const SourceFile cmake_lists = read_source("CMakeLists.txt");
  REQUIRE(cmake_lists.lines.size() > 20);
  report(check_targets(cmake_lists));
}

TEST_CASE("the tree has the top folders that it should, and no other", "[tidy]") {
  for (const auto& entry : fs::directory_iterator(".")) {
    if (entry.is_directory()) report(check_top_folder(entry.path().filename().string()));
  }
}
