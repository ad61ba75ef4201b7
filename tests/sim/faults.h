// What goes wrong, and when: hosts, agents and servers crash and come back, the network is cut, the
// server's disk is full.
#pragma once

#include "schemas/base/id.h"

namespace trainyard::sim {

class Host;
class World;

class Faults {
 public:
  explicit Faults(World& world) : world_(world) {}
  void begin();
  // No more of it; all that is down comes up.
  void stop();
  void process_ended(Host& host);

 private:
  void next();
  void crash_host();
  void kill_agent(Host& host);
  void crash_server();
  void cut_network(const AgentId& id);
  void fill_disk();

  Host& any_host();

  World& world_;
  bool stopped_ = false;
};

}  // namespace trainyard::sim
