#include "runtime/role/save_order.h"

#include <unistd.h>

#include <chrono>

namespace trainyard::runtime {

bool SaveOrder::is_given() {
  constexpr std::chrono::milliseconds look_every{5};
  const auto now = StepTimes::Clock::now();
  if (given_ || now < look_at_) return given_;
  look_at_ = now + look_every;
  given_ = ::access(path_.c_str(), F_OK) == 0;
  return given_;
}

}  // namespace trainyard::runtime
