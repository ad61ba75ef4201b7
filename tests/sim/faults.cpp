#include "tests/sim/faults.h"

#include "tests/sim/world.h"

namespace trainyard::sim {
namespace {

constexpr int leaving_percent = 30;  // of the agents that end
constexpr int full_percent = 30;     // of the troubles: the disk is full, too
constexpr std::int64_t refused_saves_max = 6;

}  // namespace

void Faults::begin() {
  world_.clock().after(world_.random().millis(500, 6000), [this] { next(); });
}

void Faults::next() {
  if (stopped_) return;
  switch (world_.random().between(0, 3)) {
    case 0: crash_host(); break;
    case 1: crash_server(); break;
    default: cut_network(); break;
  }
  if (world_.random().chance(full_percent)) fill_disk();
  world_.server().compare_with_rows();
  begin();
}

void Faults::crash_host() {
  auto& hosts = world_.hosts();
  const auto which = world_.random().between(0, static_cast<std::int64_t>(hosts.size()) - 1);
  Host* const host = hosts[static_cast<std::size_t>(which)].get();
  Millis back_after = world_.random().millis(50, 20'000);
  if (world_.random().chance(leaving_percent)) {
    host->leave();
    back_after = back_after + Host::farewell_max;
  } else {
    host->crash();
  }
  world_.clock().after(back_after, [host] { host->start(); });
}

void Faults::crash_server() {
  using enum Server::Crash;
  const Server::Crash when[] = {at_once, before_next_save, after_next_save};
  world_.server().crash(when[world_.random().between(0, 2)]);
  world_.clock().after(world_.random().millis(100, 20'000), [this] {
    if (!world_.server().is_up()) world_.server().start();
  });
}

void Faults::fill_disk() {
  world_.database().refuse(world_.random().between(1, refused_saves_max));
}

void Faults::cut_network() {
  auto& hosts = world_.hosts();
  const auto which = world_.random().between(0, static_cast<std::int64_t>(hosts.size()) - 1);
  const AgentId& id = hosts[static_cast<std::size_t>(which)]->id();
  const Millis how_long = world_.random().millis(500, 18'000);
  world_.journal().say("cut " + id.text + " for " + std::to_string(how_long.count));
  world_.network().cut(id, how_long);
}

void Faults::stop() {
  stopped_ = true;
  world_.database().refuse(0);
  for (const auto& host : world_.hosts()) host->start();
  world_.server().crash(Server::Crash::never);
  if (!world_.server().is_up()) world_.server().start();
}

}  // namespace trainyard::sim
