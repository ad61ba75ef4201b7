#include "agent/host/ports.h"

#include <catch2/catch.hpp>

#include "tests/support/loopback.h"

namespace trainyard::agent {

TEST_CASE("a port that another program holds is told from one that is free", "[ports][mend-B1]") {
  int port = 0;
  {
    const Descriptor holder = listen_on_loopback();
    port = port_of_socket(holder);
    const Status held = try_to_listen("127.0.0.1", port);
    REQUIRE_FALSE(held);
    CHECK(held.error().code == Code::conflict);
    CHECK(held.error().message ==
          "another program holds port " + std::to_string(port) + " of 127.0.0.1");
  }
  CHECK(try_to_listen("127.0.0.1", port));
  CHECK(try_to_listen("127.0.0.1", port));  // looking takes nothing
}

TEST_CASE("an address that is none of this host's is no port that is held", "[ports][mend-B1]") {
  CHECK(try_to_listen("127.0.0.1", 0));
  const Status elsewhere = try_to_listen("192.0.2.1", 0);  // for documents, of nobody
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().code != Code::conflict);
  CHECK_THAT(elsewhere.error().message, Catch::Contains("192.0.2.1"));
  CHECK_FALSE(try_to_listen("no-such-host.invalid", 0));
}

TEST_CASE("an address is moved to another host with its port", "[ports][mend-B1]") {
  CHECK(at_host("gpu-1:20001", "127.0.0.1") == "127.0.0.1:20001");
  CHECK(at_host("[::1]:7", "[::]") == "[::]:7");
  CHECK(at_host("", "127.0.0.1").empty());
  CHECK(port_of("127.0.0.1:20001") == 20001);
  CHECK(port_of("[::1]:7") == 7);
  CHECK(port_of("") == 0);
  CHECK(port_of("host:") == 0);
}

TEST_CASE("the system tells its ephemeral ports", "[ports][mend-B1]") {
  const auto range = ephemeral_ports();
  REQUIRE(range);
  CHECK(range->first >= 1);
  CHECK(range->last >= range->first);
}

}  // namespace trainyard::agent
