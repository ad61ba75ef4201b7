#include "runtime/net/chunks/link_peers.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {

LinkPeers::LinkPeers(std::vector<std::string> addresses, Limits limits)
    : addresses_(std::move(addresses)), limits_(limits), ways_(addresses_.size()) {}

void LinkPeers::welcomed(std::size_t ps, Way way) {
  ways_[ps] = std::move(way);
  lost_.erase(ps);
}

std::optional<std::size_t> LinkPeers::gone() const {
  for (const auto& [ps, since] : lost_) {
    if (Clock::now() - since > limits_.absence) return ps;
  }
  return std::nullopt;
}

std::optional<std::string> LinkPeers::silence(Clock::time_point since) const {
  if (Clock::now() - std::max(heard_, since) <= limits_.silence) return std::nullopt;
  return "no parameter server has answered for " + std::to_string(limits_.silence.count() / 1000) +
         " s";
}

}  // namespace trainyard::runtime
