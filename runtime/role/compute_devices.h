// Which devices compute a task's gradients: the GPUs of its slots, or the CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/device.h"
#include "schemas/base/result.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {

struct ComputeDevices {
  std::vector<std::unique_ptr<Device>> gpus;  // none: the CPU
  // "on NVIDIA H100 in tf32; its products make ...", "on the CPU: this host has no NVIDIA driver";
  // "": on the CPU, as asked.
  std::string detail;
  // The kind of the first, where all that compute must be of one; "": it does not matter.
  std::string fingerprint = {};
};

// As ComputeDevices::fingerprint, of this device.
std::string fingerprint_of(const Device& device, const JobSpec& spec);

// `unavailable`, saying what is missing, where the task is to compute on GPUs and cannot.
Result<ComputeDevices> open_compute_devices(const TaskContext& context);

// The first GPU once more, with an order of kernels of its own.
Result<std::unique_ptr<Device>> open_first_again();

// `unavailable` where they have to be of one kind, and are not.
Status check_one_kind(const ComputeDevices& devices);

// What make() makes on these devices, such as a model. Where they have too little memory for it and
// the task may compute on the CPU, that has it from then on, and make() is called once more.
template <class Make>
auto with_enough_memory(const TaskContext& context, ComputeDevices& devices, const Make& make) {
  try {
    return make();
  } catch (const DeviceFailed& failure) {
    if (context.spec.training.device != ComputeDevice::automatic) throw;
    devices = {.gpus = {}, .detail = std::string("on the CPU: ") + failure.what()};
  }
  return make();
}

}  // namespace trainyard::runtime
