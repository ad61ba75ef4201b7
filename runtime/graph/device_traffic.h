// What of a step travels between the host and a device that computes it: parameters on their way
// there, gradients on their way back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "runtime/core/variable.h"
#include "runtime/graph/device_memory.h"
#include "runtime/graph/gradient_place.h"
#include "runtime/graph/parameter_place.h"

namespace trainyard::runtime {

class DeviceTraffic {
 public:
  struct ArenaRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  DeviceTraffic(DeviceMemory& memory, std::span<const Variable> variables)
      : memory_(memory), variables_(variables), is_brought_(variables.size()) {}

  void begin_step() { is_brought_.assign(is_brought_.size(), false); }
  // To the device; each once in a step, as nothing changes it until the step is over. Running
  // averages are read in an evaluation alone: in training they may still be on their way.
  void bring(std::span<const std::size_t> variables, const ParameterPlace& parameters, Pass pass);

  // Where gradients of a node's leaves are added on the device: these of the last leaf's are final.
  void add_up(std::span<const std::size_t> variables);
  // From the device, where the gradients lie at `from`, once what was asked for until now is done.
  void send(std::vector<std::size_t> variables, const float* from, const GradientPlace& to);
  // Calls on_final, if there is one, for each variable whose gradient is on the host by now.
  void report_arrived(const std::function<void(std::size_t)>& on_final);
  // The same of all, for which it waits.
  void report_all(const std::function<void(std::size_t)>& on_final);

 private:
  using Matters = bool (*)(const Variable& variable);
  [[nodiscard]] std::vector<ArenaRange> ranges_of(std::span<const std::size_t> variables,
                                                  Matters matters) const;
  void bring_rounded(const ArenaRange& range, std::span<const std::uint16_t> from);
  void send_rounded(const ArenaRange& range, const float* from, std::span<std::uint16_t> to);
  void report_first(const std::function<void(std::size_t)>& on_final);

  struct Sent {
    std::vector<std::size_t> variables;
    std::uint64_t mark = 0;
  };

  DeviceMemory& memory_;
  std::span<const Variable> variables_;
  std::vector<bool> is_brought_;  // by variable, in this step
  std::deque<Sent> sent_;
};

}  // namespace trainyard::runtime
