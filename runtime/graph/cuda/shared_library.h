// A library that a host may have, opened while the program runs.
#pragma once

#include <dlfcn.h>

#include <string>

namespace trainyard::runtime {

class SharedLibrary {
 public:
  // By its name, as the loader finds it, or where NVIDIA's packages put it.
  explicit SharedLibrary(const std::string& name)
      : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const std::string beside_toolkit = "/usr/local/cuda/lib64/" + name;
    if (handle_ == nullptr) handle_ = dlopen(beside_toolkit.c_str(), RTLD_NOW | RTLD_LOCAL);
  }

  [[nodiscard]] bool is_there() const { return handle_ != nullptr; }

  // Whether the library has such a function; else `function` is null.
  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_;  // stays open as long as the program runs
};

}  // namespace trainyard::runtime
