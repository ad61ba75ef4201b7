// Two hosts on this one: network namespaces that a link joins, of a given rate each way. Needs root
// and iproute2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/descriptor.h"

namespace trainyard {

enum class Link { joined, cut };

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
  // Cuts the link, as when a cable is pulled at host 0, or joins it again.
  void set_link(Link link) const;
  // Of what this host sends: bytes that wait for the link, since it is slower than their senders.
  [[nodiscard]] std::int64_t bytes_waiting(int host) const;
  // Of the namespace, as ip-netns(8) knows it.
  [[nodiscard]] std::string name(int host) const;

 private:
  void take_cubic(int host) const;
};

// While it lives, the thread that made it is on that host, with all that it starts meanwhile,
// threads and programs.
class OnHost {
 public:
  OnHost(const TwoHosts& hosts, int host);
  ~OnHost();
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

 private:
  Descriptor before_;  // the namespace that the thread goes back to
};

}  // namespace trainyard
