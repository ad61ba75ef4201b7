// A library that a host may have, opened while the program runs and never linked.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace trainyard::runtime {

// Of 10000 * major + 100 * minor + patch, as NVIDIA's libraries count.
inline std::string version_text(std::size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

class SharedLibrary {
 public:
  // By its name, as the loader finds it, or where NVIDIA's packages put it. It stays open as long
  // as the program runs.
  explicit SharedLibrary(const std::string& name) : handle_(opened(name)) {
    if (handle_ == nullptr) why_ = last_error();
    const std::string beside_toolkit = "/usr/local/cuda/lib64/" + name;
    if (handle_ == nullptr) handle_ = opened(beside_toolkit);
    if (handle_ != nullptr) why_.clear();
  }

  // Whether it is there, with every function that find() was asked for.
  [[nodiscard]] bool is_whole() const { return why_.empty(); }
  // Why not, in the loader's words of the first that was missing.
  [[nodiscard]] const std::string& why() const { return why_; }

  // Null where there is no such function.
  template <class Function>
  void find(const char* name, Function& function) {
    function = nullptr;
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && why_.empty()) why_ = last_error();
  }

 private:
  static void* opened(const std::string& name) {
    return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  static std::string last_error() {
    const char* const text = dlerror();
    return text == nullptr ? "unknown" : text;
  }

  void* handle_;
  std::string why_;
};

}  // namespace trainyard::runtime
