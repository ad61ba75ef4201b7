// The network between agents and server: it drops, doubles, reorders and delays messages, some by
// seconds, and it is cut for a while. Harsher than a gRPC stream, which keeps the order of what it
// delivers.
#pragma once

#include <functional>
#include <map>

#include "schemas/base/id.h"
#include "tests/sim/clock.h"
#include "tests/sim/random.h"

namespace trainyard::sim {

class Network {
 public:
  Network(Clock& clock, Random& random) : clock_(clock), random_(random) {}

  // `deliver` runs at the other end: never, once or twice.
  void send(const AgentId& agent, const std::function<void()>& deliver);

  void cut(const AgentId& agent, Millis how_long) { cut_until_[agent] = clock_.now() + how_long; }
  [[nodiscard]] bool is_cut(const AgentId& agent) const;

  // What is cut is mended, and from now on it only takes its time (unless it is cut again).
  void calm_down();

 private:
  void deliver_later(const AgentId& agent, const std::function<void()>& deliver);
  Millis delay();

  Clock& clock_;
  Random& random_;
  bool calm_ = false;
  std::map<AgentId, Time> cut_until_;
};

}  // namespace trainyard::sim
