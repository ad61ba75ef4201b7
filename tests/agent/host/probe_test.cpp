#include "agent/host/probe.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {

TEST_CASE("this host has cpus, memory and a name", "[probe]") {
  CHECK(probe_cpus() >= 1);
  CHECK(probe_memory_mb() >= 64);
  CHECK_FALSE(probe_host_name().empty());
}

TEST_CASE("a server on this host is reached by the loopback", "[probe]") {
  CHECK(*probe_address("127.0.0.1:8081") == "127.0.0.1");
  CHECK(*probe_address("localhost:8081") == "127.0.0.1");
  CHECK(*probe_address("[::1]:8081") == "127.0.0.1");
}

TEST_CASE("a host that does not exist is named in the error", "[probe]") {
  const auto address = probe_address("no-such-host.invalid:8081");
  REQUIRE_FALSE(address);
  CHECK(address.error().message.find("no-such-host.invalid") != std::string::npos);
}

TEST_CASE("the memory limits of both generations of cgroups are found, inner ones first",
          "[probe]") {
  CHECK(memory_limit_files("0::/a/b\n") == std::vector<std::string>{"/sys/fs/cgroup/a/b/memory.max",
                                                                    "/sys/fs/cgroup/a/memory.max",
                                                                    "/sys/fs/cgroup/memory.max"});
  CHECK(memory_limit_files("9:name=systemd:/x\n4:memory:/a\n0::/\n") ==
        std::vector<std::string>{"/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                                 "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                 "/sys/fs/cgroup/memory.max"});
  CHECK(memory_limit_files("4:memory:/\n").size() == 1);
  CHECK(memory_limit_files("").empty());
}

}  // namespace trainyard::agent
