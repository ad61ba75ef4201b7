// Stands for libtrainyard-cuda.so: the same symbol, the same answers and the same sentences, of
// GPUs that are the mirror device. Which, says a file beside it (shown_gpus.h); without one it
// answers that it is a double. It is built under another name than the product opens, outside the
// folder of the programs; tests put it beside a copy of trainyard-runtime.
#include "runtime/graph/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include "runtime/graph/build_id.h"
#include "tests/support/gpu_double/failing_device.h"
#include "tests/support/gpu_double/shown_gpus.h"

extern "C" __attribute__((visibility("default"))) void trainyard_device_v1(
    const trainyard::runtime::DeviceRequest* request, trainyard::runtime::DeviceAnswer* answer);

namespace trainyard::gpu_double {
namespace {

constexpr int needed_cuda = 13000;

std::filesystem::path own_folder() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&trainyard_device_v1), &about) == 0) return {};
  return std::filesystem::path(about.dli_fname).parent_path();
}

// Whether the request can be met; else why not is in the answer.
bool can_be_met(const runtime::DeviceRequest& request, const ShownGpus& shown,
                const std::vector<ShownGpu>& visible, runtime::DeviceAnswer& answer) {
  const std::string build = shown.build.empty() ? runtime::build_id : shown.build;
  if (request.build != build) {
    runtime::answer_other_build(answer, build.c_str(), request.build);
    return false;
  }
  const int driver = 1000 * shown.driver_major + 10 * shown.driver_minor;
  if (driver < needed_cuda) {
    runtime::answer_old_driver(answer, needed_cuda, driver);
    return false;
  }
  if (std::ssize(visible) < request.count) {
    runtime::answer_too_few(answer, request.count, static_cast<int>(visible.size()));
    return false;
  }
  const ShownGpu& gpu = visible.at(static_cast<std::size_t>(request.number));
  if (gpu.major >= runtime::least_compute_major) return true;
  runtime::answer_no_code(answer, gpu.name.c_str(), gpu.major, gpu.minor);
  return false;
}

void answer_request(const runtime::DeviceRequest& request, runtime::DeviceAnswer& answer) {
  const std::filesystem::path folder = own_folder();
  const ShownGpus shown = shown_in(folder / "gpus");
  const auto visible = visible_of(shown.gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
  if (!can_be_met(request, shown, visible, answer)) return;
  const ShownGpu& gpu = visible.at(static_cast<std::size_t>(request.number));
  const bool multiplies = gpu.has_libraries && request.precision != Precision::float32;
  const std::string toolkit = shown.toolkit + (multiplies ? " and libraries" : "");
  answer.device = new FailingDevice({.name = gpu.name, .toolkit = toolkit},
                                    {.bytes = gpu.memory_mb << 20,
                                     .is_late = true,
                                     .seed = static_cast<std::uint64_t>(request.number) + 1,
                                     .precision = request.precision,
                                     .has_libraries = gpu.has_libraries,
                                     .broadcasts = shown.broadcasts},
                                    folder);
}

}  // namespace
}  // namespace trainyard::gpu_double

void trainyard_device_v1(const trainyard::runtime::DeviceRequest* request,
                         trainyard::runtime::DeviceAnswer* answer) {
  try {
    trainyard::gpu_double::answer_request(*request, *answer);
  } catch (const std::exception& error) {
    trainyard::runtime::answer_no(*answer, error.what());
  }
}
