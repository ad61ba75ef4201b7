// What an executor has besides where a device with memory of its own computes.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/device_memory.h"
#include "runtime/graph/device_traffic.h"
#include "runtime/graph/executor.h"
#include "runtime/graph/recordings.h"

namespace trainyard::runtime {

struct Executor::OnDevice {
  // Nodes, or steps of the backward pass, that are asked for at once.
  struct Segment {
    std::size_t end = 0;                 // of the nodes or steps; it begins where the last ended
    std::vector<std::size_t> variables;  // that are read first, or whose gradients are final then
  };

  OnDevice(const Graph& graph, const Plan& plan, std::shared_ptr<DeviceMemory> where);
  ~OnDevice();  // recordings are over before they go
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  static std::vector<Segment> forward_segments(const Graph& graph);
  static std::vector<Segment> backward_segments(const Graph& graph, const Plan& plan);

  std::shared_ptr<DeviceMemory> memory;
  DeviceTraffic traffic;
  std::vector<Segment> forward;
  std::vector<Segment> backward;
  Recordings forward_recordings;
  Recordings backward_recordings;
  Feed batch = {};                          // as it lies there
  std::span<float> parameters = {};         // of the newest forward pass, there
  bool are_kept = false;                    // these, and their gradients
  std::vector<std::vector<float>> fetched;  // by node that is an output
};

}  // namespace trainyard::runtime
