// What the scheduler counts while it works, for /metrics. Written by its thread, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "scheduler/loop/gpu_board.h"
#include "scheduler/loop/scheduler.h"

namespace trainyard::scheduler {

struct Scheduler::Counters {
  // Upper ends of the buckets of save_seconds; what takes longer counts in none of them.
  static constexpr std::array<double, 10> save_buckets{0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                       0.025,  0.05,  0.1,    0.5,   1.0};
  static constexpr std::size_t agent_states = 5;  // of AgentState, in its order

  std::atomic<std::int64_t> steps{0};
  std::atomic<std::int64_t> saves{0};  // transactions
  std::atomic<std::int64_t> failed_saves{0};
  std::atomic<std::int64_t> save_micros{0};                                   // all saves together
  std::array<std::atomic<std::int64_t>, save_buckets.size()> saves_within{};  // not cumulative
  std::atomic<std::int64_t> run_events{0};                                    // stored
  std::atomic<std::int64_t> inbox_size{0};  // when the thread last looked
  std::atomic<std::int64_t> refused{0};     // requests and reports that found the inbox full
  std::array<std::atomic<std::int64_t>, agent_states> agents{};
  GpuBoard gpus;
};

}  // namespace trainyard::scheduler
