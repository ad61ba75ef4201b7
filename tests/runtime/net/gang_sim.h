// Workers and ps of one gang as their pure cores (StepProtocol, Aggregator), on links whose pace is
// drawn from a seed, with kills in between any two messages. Everything happens in one thread, so a
// seed is a history that can be seen again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/core/step_protocol.h"
#include "runtime/net/aggregator.h"

namespace trainyard::runtime::test {

struct SimSpec {
  Mode mode = Mode::sync;
  std::int64_t ps = 2;
  std::int64_t workers = 3;
  std::int64_t max_steps = 12;
  std::int64_t snapshot_every = 4;
  std::optional<std::int64_t> max_staleness = {};
  // By chance out of 1000, before each event.
  int worker_kills = 0;  // of a worker that is not the chief: its task goes on in another process
  int worker_ends = 0;   // the same, and it never comes back; sync: only with heirs
  int gang_kills = 0;    // of the chief or a ps: all start again from the newest checkpoint
  int ps_kills = 0;      // async: of a ps, which goes on from a shard of its own
  int cuts = 0;          // of a stream between two that go on
  bool keeps_previous = true;
  bool names_heirs = false;
};

struct SimEnd {
  bool over = false;  // every worker that is left has seen the end
  std::string fault;  // what was seen that must never be
  int restarts = 0;   // of the gang
  int kills = 0;      // of workers
  int ps_kills = 0;
  int cuts = 0;
  int late_frames = 0;                                // that a ps took from a stream that was cut
  std::int64_t lost_updates = 0;                      // with ps that were killed
  int checkpoints = 0;                                // committed
  int inherited = 0;                                  // gradients that were made for others
  bool lost_any = false;                              // a worker never came back
  std::vector<std::vector<float>> weights;            // by ps, at the end
  std::vector<std::vector<std::int64_t>> rank_steps;  // by ps, at the end
  std::vector<std::int64_t> versions;                 // likewise
  bool all_told = true;  // no ps was lost so late that a worker had gone before it was back
};

// Sync: gradients depend on the parameters, so that a mistake anywhere spreads. Async: each adds 1
// to the element of its rank, so that weights count the pushes that made them.
SimEnd simulate(const SimSpec& spec, std::uint64_t seed);

}  // namespace trainyard::runtime::test
