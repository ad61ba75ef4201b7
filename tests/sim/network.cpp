#include "tests/sim/network.h"

namespace trainyard::sim {
namespace {

constexpr int dropped_percent = 4;
constexpr int doubled_percent = 4;
constexpr int late_percent = 4;
constexpr std::int64_t late_max = 6000;

}  // namespace

void Network::cut(const AgentId& agent, Millis how_long) {
  cut({agent, Way::to_server}, how_long);
  cut({agent, Way::to_agent}, how_long);
}

bool Network::is_cut(const Road& road) const {
  const auto until = cut_until_.find(road);
  return until != cut_until_.end() && clock_.now() < until->second;
}

void Network::send(const Road& road, const std::function<void()>& deliver) {
  if (is_cut(road)) return;
  if (calm_) return deliver_later(road, deliver);
  if (random_.chance(dropped_percent)) return;
  deliver_later(road, deliver);
  if (random_.chance(doubled_percent)) deliver_later(road, deliver);
}

void Network::deliver_later(const Road& road, const std::function<void()>& deliver) {
  clock_.after(delay(), [this, road, deliver] {
    if (!is_cut(road)) deliver();
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
