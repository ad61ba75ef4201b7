#include "agent/loop/gpu_watch.h"

#include <chrono>
#include <utility>

#include "agent/process/process_table.h"

namespace trainyard::agent {
namespace {

constexpr std::chrono::milliseconds read_interval{1000};

}  // namespace

GpuWatch::GpuWatch(const std::string& library, OnRead on_read)
    : nvml_(library), on_read_(std::move(on_read)) {}

GpusRead GpuWatch::read() const {
  GpusRead read;
  for (GpuUse& use : nvml_.read()) {
    GpusRead::Gpu& gpu = read.gpus.emplace_back();
    gpu.uuid = std::move(use.uuid);
    gpu.reading = std::move(use.reading);
    for (const GpuProcess& process : use.processes) {
      auto kin = kin_of(process.pid);
      if (!kin.empty()) gpu.users.push_back({process, std::move(kin)});
    }
  }
  return read;
}

void GpuWatch::run() {
  if (nvml_.read().empty()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void GpuWatch::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void GpuWatch::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop, read_interval, [] { return false; });
    }
    if (!stop.stop_requested()) on_read_(read());
  }
}

}  // namespace trainyard::agent
