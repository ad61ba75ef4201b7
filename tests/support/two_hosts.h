// Two hosts on this one: network namespaces that a link joins, of a given rate each way. Needs root
// and iproute2.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

class TwoHosts {
 public:
  // Why this machine cannot have them; nothing: it can.
  static std::optional<std::string> missing();

  // `rate` as tc(8) writes it, "1gbit"; each end sends through a token bucket of 256 KiB.
  explicit TwoHosts(const std::string& rate);
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // Of host 0 or 1.
  [[nodiscard]] static std::string address(int host);
  [[nodiscard]] static std::string interface(int host);
  // What is put before a command so that it runs there, on this core alone; -1: on any.
  [[nodiscard]] std::vector<std::string> at(int host, int core = -1) const;
  // Cuts the link, or joins it again.
  void set_link(bool up) const;

 private:
  [[nodiscard]] std::string name(int host) const;
};

}  // namespace trainyard
