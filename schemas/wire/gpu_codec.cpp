#include "schemas/wire/gpu_codec.h"

#include "schemas/base/utf8.h"
#include "schemas/types/precision_names.h"

namespace trainyard {

proto::GpuInfo to_proto(const GpuInfo& gpu) {
  proto::GpuInfo message;
  message.set_index(gpu.index);
  message.set_name(to_valid_utf8(gpu.name));
  message.set_memory_mb(gpu.memory_mb);
  message.set_uuid(to_valid_utf8(gpu.uuid));
  if (gpu.numa_node) message.set_numa_node(*gpu.numa_node);
  for (const std::string& peer : gpu.peers) message.add_peers(to_valid_utf8(peer));
  for (const auto& [precision, tflops] : gpu.product_rates) {
    (*message.mutable_product_tflops())[std::string(find_name(precision_names, precision))] =
        tflops;
  }
  return message;
}

GpuInfo gpu_from(const proto::GpuInfo& message) {
  GpuInfo gpu{message.index(), message.name(), message.memory_mb(), message.uuid()};
  if (message.has_numa_node()) gpu.numa_node = message.numa_node();
  gpu.peers.assign(message.peers().begin(), message.peers().end());
  for (const auto& [name, tflops] : message.product_tflops()) {
    // Others are of an agent that is newer than this server. What is no rate counts as not told.
    const auto precision = find_value(precision_names, name);
    if (precision && is_product_rate(tflops)) gpu.product_rates.emplace(*precision, tflops);
  }
  return gpu;
}

proto::GpuReading to_proto(const GpuReading& gpu) {
  proto::GpuReading message;
  message.set_index(gpu.index);
  if (gpu.temperature_celsius) message.set_temperature_celsius(*gpu.temperature_celsius);
  if (gpu.power_milliwatts) message.set_power_milliwatts(*gpu.power_milliwatts);
  if (gpu.utilization_percent) message.set_utilization_percent(*gpu.utilization_percent);
  if (gpu.memory_used_mb) message.set_memory_used_mb(*gpu.memory_used_mb);
  for (const GpuProcess& process : gpu.strangers) {
    proto::GpuProcess& added = *message.add_strangers();
    added.set_pid(process.pid);
    if (process.memory_mb) added.set_memory_mb(*process.memory_mb);
  }
  return message;
}

GpuReading reading_from(const proto::GpuReading& message) {
  GpuReading gpu{.index = message.index()};
  if (message.has_temperature_celsius()) gpu.temperature_celsius = message.temperature_celsius();
  if (message.has_power_milliwatts()) gpu.power_milliwatts = message.power_milliwatts();
  if (message.has_utilization_percent()) gpu.utilization_percent = message.utilization_percent();
  if (message.has_memory_used_mb()) gpu.memory_used_mb = message.memory_used_mb();
  for (const proto::GpuProcess& process : message.strangers()) {
    GpuProcess& added = gpu.strangers.emplace_back(GpuProcess{.pid = process.pid()});
    if (process.has_memory_mb()) added.memory_mb = process.memory_mb();
  }
  return gpu;
}

}  // namespace trainyard
