#include "tests/support/two_hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "schemas/base/check.h"
#include "tests/support/process_state.h"

namespace trainyard {
namespace {

constexpr const char* prefix = "trainyard-";

bool run(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

// What the command prints.
std::string printed_by(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  ENSURE(pipe);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), count);
  }
  return text;
}

std::string token_bucket(const std::string& rate) {
  return " root tbf rate " + rate + " burst 256kb latency 50ms";
}

// As on a fresh Debian, whatever this machine's own connections take; by the route, as a namespace
// may not choose freely.
bool take_cubic_by(const std::string& host, const std::string& route) {
  return run("ip -n " + host + " route change " + route + " congctl cubic");
}

// Programs in it would train on, for nobody.
void remove_with_programs(const std::string& name) {
  std::istringstream programs(printed_by("ip netns pids " + name + " 2>/dev/null"));
  for (pid_t pid = 0; programs >> pid;) {
    if (pid != ::getpid()) ::kill(pid, SIGKILL);
  }
  run("ip netns del " + name);
}

// Those of a program that was killed; of a number that is this one's now, too.
void remove_leftovers() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const int owner = std::atoi(name.c_str() + std::string_view(prefix).size());
    if (owner == ::getpid() || (owner > 0 && !is_alive(owner))) remove_with_programs(name);
  }
}

}  // namespace

std::optional<std::string> TwoHosts::missing() {
  if (::geteuid() != 0) return "two hosts are network namespaces, which only root can make";
  if (!run("ip -V >/dev/null") || !run("tc -V >/dev/null")) {
    return "two hosts are network namespaces, which iproute2 makes: it is not installed";
  }
  const std::string trial = prefix + std::to_string(::getpid()) + "-trial";
  run("ip netns del " + trial);  // of a program that was killed
  const bool is_made = run("ip netns add " + trial) &&
                       run("ip -n " + trial + " link add one type veth peer name other") &&
                       run("tc -n " + trial + " qdisc add dev one" + token_bucket("1gbit")) &&
                       run("ip -n " + trial + " link set lo up") &&
                       run("ip -n " + trial + " route add 10.90.0.0/24 dev lo congctl cubic");
  run("ip netns del " + trial);
  if (is_made) return std::nullopt;
  return "two hosts are network namespaces, a veth pair, a token bucket and connections by cubic, "
         "which cannot be made here";
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
    ENSURE(run("tc" + here + "qdisc add dev " + interface(host) + token_bucket(rate)));
    take_cubic(host);
  }
}

void TwoHosts::take_cubic(int host) const {
  const std::string from_here =
      " dev " + interface(host) + " proto kernel src " + address(host) + " scope ";
  ENSURE(take_cubic_by(name(host), "10.90.0.0/24" + from_here + "link"));
  ENSURE(take_cubic_by(name(host), "local " + address(host) + from_here + "host table local"));
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

void TwoHosts::set_link(Link link) const {
  ENSURE(run("ip -n " + name(0) + " link set " + interface(0) +
             (link == Link::joined ? " up" : " down")));
  if (link == Link::joined) take_cubic(0);  // its routes are new
}

std::int64_t TwoHosts::bytes_waiting(int host) const {
  const std::string text =
      printed_by("tc -n " + name(host) + " -s -j qdisc show dev " + interface(host));
  const std::string_view key = "\"backlog\":";
  const std::size_t at = text.find(key);
  ENSURE(at != std::string::npos);
  return std::atoll(text.c_str() + at + key.size());
}

OnHost::OnHost(const TwoHosts& hosts, int host)
    : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  const Descriptor there(::open(("/run/netns/" + hosts.name(host)).c_str(), O_RDONLY | O_CLOEXEC));
  ENSURE(before_ && there && ::setns(there.get(), CLONE_NEWNET) == 0);
}

OnHost::~OnHost() { ENSURE(::setns(before_.get(), CLONE_NEWNET) == 0); }

}  // namespace trainyard
