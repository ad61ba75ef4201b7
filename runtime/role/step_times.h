// Where the time of a step goes, as a task that computes gradients sees it.
#pragma once

#include <algorithm>
#include <chrono>

#include "runtime/net/params_channel.h"

namespace trainyard::runtime {

struct StepTimes {
  using Clock = std::chrono::steady_clock;

  Seconds input{};    // waiting for batches
  Seconds compute{};  // gradients and their sums
  Seconds push{};     // handing the gradient to the transport
  Seconds wait{};     // for other tasks, and for the network
  Seconds pull{};     // taking in the parameters
  Seconds apply{};    // of the ps' sum and update what was not done ahead, of the slowest ps

  // `lasted` is the whole of a push_pull(), which tells of its parts.
  void add_exchange(Seconds lasted, const ExchangeTimes& parts) {
    push += parts.push;
    pull += parts.pull;
    apply += parts.apply;
    wait += std::max(lasted - parts.push - parts.pull - parts.apply, Seconds{});
  }

  StepTimes& operator+=(const StepTimes& more) {
    input += more.input;
    compute += more.compute;
    push += more.push;
    wait += more.wait;
    pull += more.pull;
    apply += more.apply;
    return *this;
  }
};

}  // namespace trainyard::runtime
