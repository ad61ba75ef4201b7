#include "agent/host/probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <sstream>
#include <thread>

#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;

// A limit file holds a number of bytes, or "max".
std::optional<std::int64_t> read_limit(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  if (error != std::errc{} || bytes <= 0) return std::nullopt;
  return bytes;
}

std::string host_of(const std::string& server) {
  std::string host = server.substr(0, server.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* ip = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(ip->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* ip = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LOOPBACK(&ip->sin6_addr);
}

// No packet is sent: connecting a datagram socket only asks the kernel for the route.
Result<std::string> local_address_towards(const addrinfo& target, const std::string& server) {
  const Descriptor socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("cannot open a socket");
  if (::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0) {
    return system_error("there is no route to the server " + server);
  }
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  auto* address = reinterpret_cast<sockaddr*>(&local);
  char text[NI_MAXHOST] = {};
  if (::getsockname(socket.get(), address, &length) != 0 ||
      ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
    return internal("cannot tell the own address on the route to " + server);
  }
  return std::string(text);
}

}  // namespace

std::int64_t probe_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1U, std::thread::hardware_concurrency());
}

std::int64_t probe_memory_mb() {
  struct sysinfo info {};
  std::int64_t bytes = 0;
  if (::sysinfo(&info) == 0) {
    bytes = static_cast<std::int64_t>(info.totalram) * static_cast<std::int64_t>(info.mem_unit);
  }
  const Result<std::string> cgroups = read_file("/proc/self/cgroup");
  if (!cgroups) return bytes / mebibyte;
  for (const std::string& path : memory_limit_files(*cgroups)) {
    if (const auto limit = read_limit(path)) bytes = std::min(bytes, *limit);
  }
  return bytes / mebibyte;
}

std::vector<std::string> memory_limit_files(std::string_view cgroups) {
  std::vector<std::string> files;
  std::istringstream lines{std::string(cgroups)};
  std::string line;
  while (std::getline(lines, line)) {  // "4:memory:/path" or, second generation, "0::/path"
    const bool second_generation = line.starts_with("0::");
    const std::size_t path_at = second_generation ? 3 : line.find(":memory:/") + 8;
    if (!second_generation && line.find(":memory:/") == std::string::npos) continue;
    const std::string root = second_generation ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string file = second_generation ? "/memory.max" : "/memory.limit_in_bytes";
    // Every group above has a say too.
    for (std::string path = line.substr(path_at); !path.empty() && path != "/";
         path = path.substr(0, path.rfind('/'))) {
      files.push_back(root + path + file);
    }
    files.push_back(root + file);
  }
  return files;
}

Result<std::string> probe_address(const std::string& server) {
  const std::string host = host_of(server);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), "1", &wanted, &found); code != 0) {
    return unavailable("cannot find the host \"" + host + "\": " + ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
  if (is_loopback(found->ai_addr)) return std::string("127.0.0.1");
  return local_address_towards(*found, server);
}

std::string probe_host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "agent";
  return name;
}

}  // namespace trainyard::agent
