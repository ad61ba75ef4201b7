#include "schemas/wire/call_token.h"

#include <catch2/catch.hpp>

namespace trainyard {

TEST_CASE("a call's task is read as it is written, and nothing else is", "[wire]") {
  const TaskKey key{JobId{"j-1"}, 12, Role::worker, 3};
  const auto read = parse_task_key(to_string(key));
  REQUIRE(read);
  CHECK(*read == key);
  for (const char* text : {"", "j-1", "j-1/1/ps", "j-1/1/ps/0/0", "j-1/0/ps/0", "j-1/1/ps/-1",
                           "j-1/1/boss/0", "/1/ps/0", "j-1/1x/ps/0", "j-1/1/ps/", "j-1//ps/0",
                           "../1/ps/0", "j-1/+1/ps/0", "j-1/99999999999999999999/ps/0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_task_key(text));
  }
}

}  // namespace trainyard
