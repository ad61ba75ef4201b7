// What the plugin looks for in libraries of the GPU's maker is there in those of a toolkit. Whether
// they start, a GPU alone shows.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "tests/environment.h"

namespace trainyard::runtime {
namespace {

struct Opened {
  std::string source;  // below runtime/graph/cuda
  std::string name;    // without its version
};

// The functions that the source asks a SharedLibrary for.
std::vector<std::string> names_in(const std::string& source) {
  std::ifstream file("runtime/graph/cuda/" + source);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex asked(R"re(in\.find\("(\w+)")re");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), asked), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

void* open_any(const std::string& name) {
  for (const std::string version : {".13", ".12", ".9", ".2", ""}) {
    for (const std::string folder : {"", "/usr/local/cuda/lib64/"}) {
      void* const library = dlopen((folder + name + version).c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (library != nullptr) return library;
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a toolkit's libraries have all that the plugin looks for", "[gpu]") {
  const auto [source, name] = GENERATE(
      values<Opened>({{"cublas_lt.cu", "libcublasLt.so"}, {"cudnn.cu", "libcudnn_cnn.so"}}));
  INFO(source);
  const std::vector<std::string> names = names_in(source);
  REQUIRE(names.size() > 10);
  if (is_sanitized) return;  // of libraries that others built
  void* const library = open_any(name);
  if (library == nullptr) {
    WARN("not asked: there is no " + name + " here");
    return;
  }
  for (const std::string& function : names) {
    INFO(function);
    CHECK(dlsym(library, function.c_str()) != nullptr);
  }
}

}  // namespace trainyard::runtime
