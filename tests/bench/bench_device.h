// What trainyard-bench compute --device computes on: a GPU in one precision, with the libraries of
// this host or by our own kernels alone, or the cores of this machine; and what it can do at most.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/graph/device.h"
#include "runtime/math/thread_team.h"
#include "schemas/base/result.h"
#include "schemas/types/precision.h"

namespace trainyard::bench {

enum class DeviceKind { cpu, gpu };
std::optional<DeviceKind> device_kind_of(std::string_view text);

struct BenchVariant {
  Precision precision = Precision::float32;
  bool with_libraries = true;
};

struct BenchDevice {
  std::string name;  // "cpu", "gpu", "gpu in tf32", "gpu in tf32 without libraries"
  BenchVariant variant;
  std::unique_ptr<runtime::Device> gpu;  // none: the cores
  std::int64_t threads = 1;              // all cores; with a GPU those that copy to it
  double peak_flops = 0;                 // 0: not known
  std::string peak_of;                   // what it is the peak of; "": not known
};

// In what a device of the kind computes, one after another. Peers are measured beside those with
// libraries.
std::span<const BenchVariant> variants_of(DeviceKind kind);

// `unavailable` where there is no such device, with the sentence that a task would end with.
Result<BenchDevice> open_bench_device(DeviceKind kind, const BenchVariant& variant);

}  // namespace trainyard::bench
