// NVIDIA's library of copies between GPUs, opened where a host has it. Its functions as its header
// declares them (nccl_group.cu holds them against it, where the toolkit has one): enums are ints,
// handles are pointers.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/graph/cuda/shared_library.h"

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

  // "", or why it cannot be opened.
  std::string open(const std::string& file = name) {
    SharedLibrary library(file);
    library.find("ncclGetVersion", get_version);
    library.find("ncclGetErrorString", error_string);
    library.find("ncclCommInitAll", init_all);
    library.find("ncclCommDestroy", destroy);
    library.find("ncclCommAbort", abort);
    library.find("ncclCommGetAsyncError", async_error);
    library.find("ncclGroupStart", group_start);
    library.find("ncclGroupEnd", group_end);
    library.find("ncclBroadcast", broadcast);
    return library.why();
  }

  // "NCCL 2.28.9".
  [[nodiscard]] std::string version() const {
    int number = 0;
    if (get_version(&number) != success) return "NCCL";
    return "NCCL " + version_text(static_cast<std::size_t>(number));
  }
};

}  // namespace trainyard::runtime
