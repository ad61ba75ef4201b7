// NVIDIA's library of copies between GPUs, opened where a host has it and never linked. Its
// functions as its header declares them (nccl.cu holds them against it, where the toolkit has one):
// enums are ints, handles are pointers.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>

namespace trainyard::runtime {

struct NcclLibrary {
  using Comm = void*;
  static constexpr int success = 0;
  static constexpr int float32 = 7;
  static constexpr const char* name = "libnccl.so.2";

  int (*get_version)(int* version) = nullptr;  // 10000 * major + 100 * minor + patch
  const char* (*error_string)(int result) = nullptr;
  int (*init_all)(Comm* comms, int devices, const int* ordinals) = nullptr;
  int (*destroy)(Comm comm) = nullptr;
  int (*abort)(Comm comm) = nullptr;
  int (*async_error)(Comm comm, int* result) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, Comm comm,
                   void* stream) = nullptr;

  // Opens it for as long as the process lives; "", or why not.
  std::string open(const char* file = name) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return last_error();
    std::string missing;
    const auto find = [&](auto& function, const char* symbol) {
      void* const found = dlsym(library, symbol);
      if (found == nullptr && missing.empty()) missing = last_error();
      function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
    };
    find(get_version, "ncclGetVersion");
    find(error_string, "ncclGetErrorString");
    find(init_all, "ncclCommInitAll");
    find(destroy, "ncclCommDestroy");
    find(abort, "ncclCommAbort");
    find(async_error, "ncclCommGetAsyncError");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(broadcast, "ncclBroadcast");
    return missing;
  }

  // "NCCL 2.28.9".
  [[nodiscard]] std::string version() const {
    int number = 0;
    if (get_version(&number) != success) return "NCCL";
    return "NCCL " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) +
           "." + std::to_string(number % 100);
  }

 private:
  static std::string last_error() {
    const char* const text = dlerror();
    return text == nullptr ? "unknown" : text;
  }
};

}  // namespace trainyard::runtime
