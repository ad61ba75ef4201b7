#include "schemas/base/listen.h"

#include <catch2/catch.hpp>

#include "tests/support/loopback.h"

using namespace trainyard;

TEST_CASE("why an address cannot be listened at is said in the system's words", "[base][mend-B6]") {
  const Descriptor socket = listen_on_loopback();
  const std::string port = std::to_string(port_of_socket(socket));

  CHECK(why_not_listen_at("127.0.0.1:" + port) == "Address already in use");
  CHECK(why_not_listen_at("192.0.2.1:0") == "Cannot assign requested address");
  CHECK(why_not_listen_at("127.0.0.1:0").empty());
  CHECK_FALSE(why_not_listen_at("127.0.0.1").empty());
}
