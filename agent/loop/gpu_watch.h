// Reads each second what this host's GPUs show, on a thread of its own: a driver takes its time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "agent/core/agent_events.h"
#include "agent/host/nvml.h"

namespace trainyard::agent {

class GpuWatch {
 public:
  using OnRead = std::function<void(GpusRead)>;  // from the thread; only posts

  GpuWatch(const std::string& library, OnRead on_read);
  ~GpuWatch() { stop(); }
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // What they show now; before `run` alone.
  [[nodiscard]] GpusRead read() const;
  // Nothing where there is no GPU.
  void run();
  void stop();

 private:
  void work(const std::stop_token& stop);

  const Nvml nvml_;
  const OnRead on_read_;
  std::mutex mutex_;  // guards nothing: the thread waits with it
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace trainyard::agent
