#include "runtime/role/compute_devices.h"

#include <utility>

#include "runtime/device/open_device.h"
#include "schemas/types/precision_names.h"
#include "schemas/types/product_rates.h"
#include "schemas/wire/job_model.h"

namespace trainyard::runtime {
namespace {

std::int64_t gpus_of(const TaskContext& context) {
  const JobSpec& spec = context.spec;
  const bool is_chief = context.key.role == Role::chief && spec.chief;
  return (is_chief ? *spec.chief : spec.worker).resources.gpus;
}

// Of a job that was taken by a version which knew no better.
Status check_several(const JobSpec& spec) {
  std::string why = several_gpus_not_yet(spec);
  if (why.empty()) why = several_gpus_not_yet(analyse_job(spec));
  return why.empty() ? ok() : unavailable(std::move(why));
}

// ", with cuBLASLt 13.1.0"; "": none is asked for.
std::string with_libraries(const Device& device) {
  const std::string words = device.libraries();
  if (words.empty()) return "";
  return (words.starts_with("without ") ? ", " : ", with ") + words;
}

// " in tf32"; "": in float32.
std::string in_precision(const JobSpec& spec) {
  if (spec.training.precision == Precision::float32) return "";
  return " in " + std::string(find_name(precision_names, spec.training.precision));
}

Result<ComputeDevices> open_all(const TaskContext& context, std::int64_t count) {
  const JobSpec& spec = context.spec;
  if (count > 1) TRY(check_several(spec));
  ComputeDevices devices;
  for (std::int64_t number = 0; number < count; ++number) {
    TRY_ASSIGN(auto gpu, open_gpu(plugin_path(), {.number = static_cast<int>(number),
                                                  .count = static_cast<int>(count),
                                                  .precision = spec.training.precision}));
    devices.detail += (number == 0 ? "on " : ", ") + std::string(gpu->name());
    devices.gpus.push_back(std::move(gpu));
  }
  devices.detail += in_precision(spec) + with_libraries(*devices.gpus.front()) +
                    products_make(count, context.gpu_product_rates);
  devices.fingerprint = fingerprint_of(*devices.gpus.front(), spec);
  return devices;
}

}  // namespace

// The bytes of float32 are those of any device, and some jobs promise none.
std::string fingerprint_of(const Device& device, const JobSpec& spec) {
  const std::string in = in_precision(spec);
  if (in.empty() || step_mode(spec) != Mode::sync || !spec.training.deterministic) return "";
  return device.name() + in + ", build " + own_build() + " by " + device.toolkit();
}

Result<ComputeDevices> open_compute_devices(const TaskContext& context) {
  const std::int64_t count = gpus_of(context);
  const auto asked = context.spec.training.device;
  if (count == 0 || asked == ComputeDevice::cpu) return ComputeDevices{};
  auto devices = open_all(context, count);
  if (devices.has_value() || asked != ComputeDevice::automatic) return devices;
  return ComputeDevices{.gpus = {}, .detail = "on the CPU: " + devices.error().message};
}

// In float32, as updates are in each precision: a device of another one opens libraries.
Result<std::unique_ptr<Device>> open_first_again() { return open_gpu(plugin_path(), {}); }

Status check_one_kind(const ComputeDevices& devices) {
  if (devices.fingerprint.empty()) return ok();
  const auto kind_of = [](const Device& gpu) {
    return gpu.name() + (" by " + std::string(gpu.toolkit()));
  };
  const Device& first = *devices.gpus.front();
  for (const auto& gpu : devices.gpus) {
    const bool is_same_gpu = std::string(gpu->name()) == first.name();
    if (kind_of(*gpu) == kind_of(first)) continue;
    return unavailable("the GPUs of this worker are " +
                       (is_same_gpu ? kind_of(first) : first.name()) + " and " +
                       (is_same_gpu ? kind_of(*gpu) : gpu->name()) +
                       ", whose gradients have other last bits; ask for one kind by gpu_name");
  }
  return ok();
}

}  // namespace trainyard::runtime
