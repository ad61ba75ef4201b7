#include "runtime/device/open_device.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/graph/build_id.h"
#include "runtime/graph/plugin.h"
#include "schemas/types/gpu.h"

namespace trainyard::runtime {
namespace {

std::string last_error() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown" : text;
}

// The loader maps a copy that was cut off as if it were whole, and the program ends by SIGBUS at
// the first page that is not there. Linkers put the table of sections last.
Status check_whole(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return unavailable(file.string() + " is no file");
  }
  Elf64_Ehdr header{};
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return ok();  // the loader says what lacks
  const std::uint64_t bytes = std::filesystem::file_size(file, error);
  const std::uint64_t whole = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (error || bytes >= whole) return ok();
  return unavailable(file.string() + " is cut off: it has " + std::to_string(bytes) + " of " +
                     std::to_string(whole) + " bytes");
}

}  // namespace

std::filesystem::path plugin_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / gpu_plugin_name;
}

std::string own_build() { return std::string(build_id).substr(0, 12); }

// What is opened stays so: the device's code is in it.
Result<std::unique_ptr<Device>> open_gpu(const std::filesystem::path& plugin,
                                         const WantedGpu& wanted) {
  // Before the plugin, whose own words would be of the driver's version.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return unavailable("this host has no NVIDIA driver (" + last_error() + ")");
  }
  std::error_code error;
  if (!std::filesystem::exists(plugin, error)) {
    return unavailable("trainyard-runtime was built without CUDA: there is no " + plugin.string());
  }
  TRY(check_whole(plugin));
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unavailable(last_error());
  const auto ask = reinterpret_cast<AskPlugin>(dlsym(library, plugin_symbol));
  if (ask == nullptr) return unavailable(last_error());
  const DeviceRequest request{.build = build_id,
                              .number = wanted.number,
                              .count = wanted.count,
                              .precision = wanted.precision,
                              .with_libraries = wanted.with_libraries};
  DeviceAnswer answer;
  ask(&request, &answer);
  if (answer.device == nullptr) return unavailable(answer.why);
  return std::unique_ptr<Device>(answer.device);
}

}  // namespace trainyard::runtime
