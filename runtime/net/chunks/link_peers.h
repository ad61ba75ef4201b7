// What a worker knows of its ps as peers: how each is reached, since when it is away, and when any
// was heard last. Whoever owns it guards it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/transport.h"

namespace trainyard::runtime {

class LinkPeers {
 public:
  struct Limits {
    std::chrono::milliseconds silence;  // of all of them
    std::chrono::milliseconds absence;  // of one that was there
  };
  LinkPeers(std::vector<std::string> addresses, Limits limits);

  struct Way {
    Transport transport = Transport::tcp;
    std::int64_t rows_port = 0;    // as in Greeting
    std::string computed_on = {};  // likewise
  };
  void welcomed(std::size_t ps, Way way);
  void heard() { heard_ = Clock::now(); }
  // It had been welcomed.
  void lost(std::size_t ps) { lost_.try_emplace(ps, Clock::now()); }

  // One that is away for too long.
  [[nodiscard]] std::optional<std::size_t> gone() const;
  using Clock = std::chrono::steady_clock;
  // Why there is nothing to wait for any more, where somebody has waited since then.
  [[nodiscard]] std::optional<std::string> silence(Clock::time_point since) const;

  [[nodiscard]] std::size_t count() const { return addresses_.size(); }
  [[nodiscard]] const std::string& address(std::size_t ps) const { return addresses_[ps]; }
  // By ps.
  [[nodiscard]] const std::vector<Way>& ways() const { return ways_; }

 private:
  const std::vector<std::string> addresses_;  // by ps
  const Limits limits_;
  std::vector<Way> ways_;                          // by ps
  std::map<std::size_t, Clock::time_point> lost_;  // ps, since when
  Clock::time_point heard_ = Clock::now();
};

}  // namespace trainyard::runtime
