#include "tests/sim/faults.h"

#include "tests/sim/world.h"

namespace trainyard::sim {
namespace {

constexpr int leaving_percent = 30;  // of the agents that end
constexpr int killed_percent = 50;   // of the troubles: an agent is killed, too
constexpr int fatal_percent = 15;  // of the ends of processes: the agent dies while it tells of it
constexpr int cut_percent = 40;    // of the agents that are killed: the network is cut, too
constexpr int deaf_percent = 25;   // of the cuts: the agent is heard, and does not hear
constexpr int slow_percent = 40;   // of the agents that are killed: it may outlast the lease
constexpr int changed_percent = 10;  // of the agents that come back: they offer other ports
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
    default: cut_network(any_host().id()); break;
  }
  if (world_.random().chance(killed_percent)) kill_agent(any_host());
  if (world_.random().chance(full_percent)) fill_disk();
  world_.server().compare_with_rows();
  begin();
}

Host& Faults::any_host() {
  auto& hosts = world_.hosts();
  const auto which = world_.random().between(0, static_cast<std::int64_t>(hosts.size()) - 1);
  return *hosts[static_cast<std::size_t>(which)];
}

void Faults::crash_host() {
  Host& host = any_host();
  Millis back_after = world_.random().millis(50, 20'000);
  if (world_.random().chance(leaving_percent)) {
    host.leave();
    back_after = back_after + Host::farewell_max;
  } else {
    host.crash();
  }
  world_.clock().after(back_after, [&host] { host.start(); });
}

void Faults::process_ended(Host& host) {
  if (stopped_ || !world_.random().chance(fatal_percent)) return;
  world_.clock().after(world_.random().millis(0, 200), [this, &host] {
    if (!stopped_) kill_agent(host);
  });
}

void Faults::kill_agent(Host& host) {
  if (!host.is_up()) return;
  host.kill_agent();
  if (world_.random().chance(cut_percent)) cut_network(host.id());
  if (world_.random().chance(changed_percent)) host.change_ports();
  const std::int64_t longest = world_.random().chance(slow_percent) ? 20'000 : 6'000;
  world_.clock().after(world_.random().millis(50, longest), [&host] { host.start(); });
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

void Faults::cut_network(const AgentId& id) {
  const Millis how_long = world_.random().millis(500, 18'000);
  const bool both_ways = !world_.random().chance(deaf_percent);
  world_.journal().say((both_ways ? "cut " : "deafen ") + id.text + " for " +
                       std::to_string(how_long.count));
  if (both_ways) return world_.network().cut(id, how_long);
  world_.network().cut({id, Network::Way::to_agent}, how_long);
}

void Faults::stop() {
  stopped_ = true;
  world_.database().refuse(0);
  for (const auto& host : world_.hosts()) host->start();
  world_.server().crash(Server::Crash::never);
  if (!world_.server().is_up()) world_.server().start();
}

}  // namespace trainyard::sim
