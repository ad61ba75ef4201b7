// What an id may be: a plain part of paths and URLs.
#include "schemas/base/id.h"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("an id is a plain part of a path", "[base]") {
  for (const std::string text : {"j-1", "a", "0.b_c-D", "box.example.org"}) CHECK(is_id(text));
  for (const std::string text :
       {"", ".", "..", ".hidden", "-x", "_x", "a b", "a/b", "a\nb", "\xC3"}) {
    INFO(text);
    CHECK_FALSE(is_id(text));
  }
  CHECK(is_id(std::string(id_length_max, 'x')));
  CHECK_FALSE(is_id(std::string(id_length_max + 1, 'x')));
}
