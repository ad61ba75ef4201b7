#include "tests/support/two_hosts.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "schemas/base/check.h"

namespace trainyard {
namespace {

constexpr const char* prefix = "trainyard-";

bool run(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

// Those of a program that was killed.
void remove_leftovers() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const int owner = std::atoi(name.c_str() + std::string_view(prefix).size());
    if (owner > 0 && ::kill(owner, 0) != 0) run("ip netns del " + name);
  }
}

}  // namespace

std::optional<std::string> TwoHosts::missing() {
  if (::geteuid() != 0) return "two hosts are network namespaces, which only root can make";
  if (!run("ip -V >/dev/null") || !run("tc -V >/dev/null")) {
    return "two hosts are network namespaces, which iproute2 makes: it is not installed";
  }
  const std::string trial = prefix + std::to_string(::getpid()) + "-trial";
  const bool made = run("ip netns add " + trial) && run("ip netns del " + trial);
  if (made) return std::nullopt;
  return "two hosts are network namespaces, which cannot be made here";
}

TwoHosts::TwoHosts(const std::string& rate) {
  remove_leftovers();
  for (const int host : {0, 1}) {
    ENSURE(run("ip netns add " + name(host)));
    ENSURE(run("ip -n " + name(host) + " link set lo up"));
  }
  ENSURE(run("ip link add " + interface(0) + " netns " + name(0) + " type veth peer name " +
             interface(1) + " netns " + name(1)));
  for (const int host : {0, 1}) {
    const std::string here = " -n " + name(host) + " ";
    ENSURE(run("ip" + here + "addr add " + address(host) + "/24 dev " + interface(host)));
    ENSURE(run("ip" + here + "link set " + interface(host) + " up"));
    ENSURE(run("tc" + here + "qdisc add dev " + interface(host) + " root tbf rate " + rate +
               " burst 256kb latency 50ms"));
  }
}

TwoHosts::~TwoHosts() {
  for (const int host : {0, 1}) run("ip netns del " + name(host));
}

std::string TwoHosts::name(int host) const {
  return prefix + std::to_string(::getpid()) + (host == 0 ? "-a" : "-b");
}

std::string TwoHosts::address(int host) { return host == 0 ? "10.90.0.1" : "10.90.0.2"; }

std::string TwoHosts::interface(int host) { return host == 0 ? "link-a" : "link-b"; }

std::vector<std::string> TwoHosts::at(int host, int core) const {
  std::vector<std::string> words{"/usr/bin/env", "ip", "netns", "exec", name(host)};
  if (core >= 0) words.insert(words.end(), {"taskset", "-c", std::to_string(core)});
  return words;
}

void TwoHosts::set_link(bool up) const {
  ENSURE(run("ip -n " + name(0) + " link set " + interface(0) + (up ? " up" : " down")));
}

}  // namespace trainyard
