// A step's work on a device, which is the same from step to step: the second batch of a kind is
// recorded while it is computed, those after it are replayed, which costs one call instead of one
// for each kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/graph/device.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

class Recordings {
 public:
  explicit Recordings(Device& device) : device_(&device) {}

  // The work that follows is on this batch and with these parameters, as they lie on the device.
  void choose(const Feed& feed, Pass pass, const float* parameters);
  // The `number`-th segment of that work.
  void run(std::size_t number, const std::function<void()>& work);

 private:
  // What kernels are told of a batch when they are asked for.
  struct Kind {
    std::int64_t examples = 0;
    Pass pass = Pass::train;
    std::vector<std::pair<const void*, std::size_t>> spans;
    bool operator==(const Kind&) const = default;
  };
  struct Recorded {
    Kind kind;
    bool is_new = true;
    std::vector<std::unique_ptr<Recording>> segments;
  };
  static constexpr std::size_t kinds_kept = 4;

  static Kind kind_of(const Feed& feed, Pass pass, const float* parameters);
  std::unique_ptr<Recording> record(const std::function<void()>& work);

  Device* device_;
  std::list<Recorded> kept_;  // the newest first
};

}  // namespace trainyard::runtime
