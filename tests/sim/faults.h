// What goes wrong, and when: hosts and servers crash and come back, the network is cut, the
// server's disk is full.
#pragma once

#include "schemas/base/time.h"

namespace trainyard::sim {

class World;

class Faults {
 public:
  explicit Faults(World& world) : world_(world) {}
  void begin();
  // No more of it; all that is down comes up.
  void stop();

 private:
  void next();
  void crash_host();
  void crash_server();
  void cut_network();
  void fill_disk();

  World& world_;
  bool stopped_ = false;
};

}  // namespace trainyard::sim
