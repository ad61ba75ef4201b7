// Where the time of a step goes, as a task that computes gradients sees it.
#pragma once

#include <chrono>

#include "runtime/role/step_exchange.h"

namespace trainyard::runtime {

struct StepTimes {
  using Clock = std::chrono::steady_clock;

  Seconds input{};    // waiting for batches
  Seconds compute{};  // gradients and their sums
  Seconds push{};     // encoding the gradient, and handing it on
  Seconds wait{};     // until the step may begin
  Seconds pull{};     // until the parameters of the layer that is next are there

  StepTimes& operator+=(const StepTimes& more) {
    input += more.input;
    compute += more.compute;
    push += more.push;
    wait += more.wait;
    pull += more.pull;
    return *this;
  }
};

}  // namespace trainyard::runtime
