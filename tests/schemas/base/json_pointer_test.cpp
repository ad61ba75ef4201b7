#include "schemas/base/json_pointer.h"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("a pointer's keys are escaped as RFC 6901 asks", "[base]") {
  CHECK(child_pointer("", "roles") == "/roles");
  CHECK(child_pointer("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(item_pointer("/layers", 3) == "/layers/3");
}

TEST_CASE("a place is in another where its pointer goes on with a key", "[base]") {
  CHECK(is_within("/roles/ps", "/roles"));
  CHECK(is_within("/roles", "/roles"));
  CHECK(is_within("/roles", ""));
  CHECK_FALSE(is_within("/rolesx", "/roles"));
}
