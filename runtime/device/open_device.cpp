#include "runtime/device/open_device.h"

#include <dlfcn.h>

#include <string>

#include "runtime/graph/build_id.h"
#include "runtime/graph/plugin.h"

namespace trainyard::runtime {
namespace {

constexpr const char* plugin_name = "libtrainyard-cuda.so";

std::string last_error() {
  const char* const text = dlerror();
  return text == nullptr ? "unknown" : text;
}

}  // namespace

std::filesystem::path plugin_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / plugin_name;
}

// What is opened stays so: the device's code is in it.
Result<std::unique_ptr<Device>> open_gpu(const std::filesystem::path& plugin, int number,
                                         int count) {
  // Before the plugin, whose own words would be of the driver's version.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return unavailable("this host has no NVIDIA driver (" + last_error() + ")");
  }
  std::error_code error;
  if (!std::filesystem::exists(plugin, error)) {
    return unavailable("trainyard-runtime was built without CUDA: there is no " + plugin.string());
  }
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unavailable(last_error());
  const auto ask = reinterpret_cast<AskPlugin>(dlsym(library, plugin_symbol));
  if (ask == nullptr) return unavailable(last_error());
  const DeviceRequest request{.build = build_id, .number = number, .count = count};
  DeviceAnswer answer;
  ask(&request, &answer);
  if (answer.device == nullptr) return unavailable(answer.why);
  return std::unique_ptr<Device>(answer.device);
}

}  // namespace trainyard::runtime
