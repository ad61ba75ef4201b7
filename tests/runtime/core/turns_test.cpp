#include "runtime/core/turns.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

TEST_CASE("there are never more turns out than updates left to make", "[turns]") {
  Turns turns(4, 10);
  CHECK(turns.take(0, 8));
  CHECK(turns.take(1, 8));
  CHECK_FALSE(turns.take(2, 8));
  CHECK_FALSE(turns.take(2, 10));
}

TEST_CASE("who has a turn keeps it until its push is here, however often it asks", "[turns]") {
  Turns turns(2, 10);
  CHECK(turns.take(0, 9));
  CHECK(turns.take(0, 9));
  CHECK(turns.take(0, 10));  // the last update is that of the other
  CHECK_FALSE(turns.take(1, 9));
  turns.give_back(0);
  CHECK(turns.take(1, 9));
}

TEST_CASE("a turn comes back once", "[turns]") {
  Turns turns(3, 10);
  CHECK(turns.take(0, 9));
  turns.give_back(1);  // which has none
  CHECK_FALSE(turns.take(2, 9));
  turns.give_back(0);
  turns.give_back(0);
  CHECK(turns.take(1, 9));
  CHECK_FALSE(turns.take(2, 9));
}

}  // namespace trainyard::runtime
