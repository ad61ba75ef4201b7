#include "tests/sim/network.h"

namespace trainyard::sim {
namespace {

constexpr int dropped_percent = 4;
constexpr int doubled_percent = 4;
constexpr int late_percent = 4;
constexpr std::int64_t late_max = 6000;

}  // namespace

bool Network::is_cut(const AgentId& agent) const {
  const auto until = cut_until_.find(agent);
  return until != cut_until_.end() && clock_.now() < until->second;
}

void Network::send(const AgentId& agent, const std::function<void()>& deliver) {
  if (is_cut(agent)) return;
  if (calm_) return deliver_later(agent, deliver);
  if (random_.chance(dropped_percent)) return;
  deliver_later(agent, deliver);
  if (random_.chance(doubled_percent)) deliver_later(agent, deliver);
}

void Network::deliver_later(const AgentId& agent, const std::function<void()>& deliver) {
  clock_.after(delay(), [this, agent, deliver] {
    if (!is_cut(agent)) deliver();
  });
}

void Network::calm_down() {
  calm_ = true;
  cut_until_.clear();
}

Millis Network::delay() {
  if (!calm_ && random_.chance(late_percent)) return random_.millis(100, late_max);
  return random_.millis(1, 30);
}

}  // namespace trainyard::sim
