// The network between agents and server: it drops, doubles, reorders and delays messages, some by
// seconds, and it is cut for a while, at times in one direction alone. Harsher than a gRPC stream,
// which keeps the order of what it delivers.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "schemas/base/id.h"
#include "tests/sim/clock.h"
#include "tests/sim/random.h"

namespace trainyard::sim {

class Network {
 public:
  Network(Clock& clock, Random& random) : clock_(clock), random_(random) {}

  // Between an agent and the server.
  enum class Way { to_server, to_agent };
  using Road = std::pair<AgentId, Way>;

  // `deliver` runs at the other end: never, once or twice.
  void send(const Road& road, const std::function<void()>& deliver);

  void cut(const AgentId& agent, Millis how_long);
  void cut(const Road& road, Millis how_long) { cut_until_[road] = clock_.now() + how_long; }
  [[nodiscard]] bool is_cut(const Road& road) const;

  // What is cut is mended, and from now on it only takes its time (unless it is cut again).
  void calm_down();

 private:
  void deliver_later(const Road& road, const std::function<void()>& deliver);
  Millis delay();

  Clock& clock_;
  Random& random_;
  bool calm_ = false;
  std::map<Road, Time> cut_until_;
};

}  // namespace trainyard::sim
