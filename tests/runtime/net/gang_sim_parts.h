// What a simulated gang is made of (gang_sim.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/step_protocol.h"
#include "runtime/net/aggregator.h"

namespace trainyard::runtime::test {

struct Frame {
  std::optional<Pull> pull;  // else a push
  Push push;
  std::shared_ptr<AlignedBuffer> gradient;
};

struct Stream {
  std::deque<Frame> up;
  std::deque<Result<Answer>> down;
  bool ended = false;  // the ps has seen its end
};

// Of a worker's task.
struct Process {
  std::int64_t rank = 0;
  std::int64_t number = 0;  // later ones have greater
  StepProtocol protocol;
  std::vector<Stream> streams;                       // by ps
  std::deque<std::pair<std::size_t, Frame>> unsent;  // with the ps each is for
  std::vector<std::optional<Answer>> answers;        // by ps: of the exchange under way
  std::vector<Answer> newest;                        // by ps
  std::int64_t calls_left = 0;                       // of those that it made as an heir
  bool alive = true;
  bool over = false;
};

// A gradient for another rank, on its way to a ps.
struct Call {
  std::shared_ptr<Process> heir;
  std::size_t ps = 0;
  Frame frame;
};

struct Ps {
  std::unique_ptr<Aggregator> aggregator;
  std::vector<std::shared_ptr<Process>> newest;  // by rank: the last process that has called
  std::map<std::int64_t, Snapshot> snapshots;    // by name
};

struct Checkpoint {
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps;
  std::vector<std::vector<float>> weights;  // by ps
};

}  // namespace trainyard::runtime::test
