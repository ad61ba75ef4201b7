#include "runtime/core/heirs.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

using Asked = std::vector<Heirs::Asked>;

TEST_CASE("nobody is named while somebody who is there computes", "[heirs]") {
  Heirs heirs(3);
  CHECK(heirs.name({true, true, false}, {true, true, false}).empty());  // rank 2 is there
  heirs.gone(2);
  CHECK(heirs.name({true, false, false}, {true, false, false}).empty());
  CHECK(heirs.name({false, false, false}, {false, false, false}).empty());
  CHECK(heirs.name({true, true, false}, {true, true, false}) ==
        Asked{{.heir = 0, .ranks = {2}}, {.heir = 1, .ranks = {}}});
}

TEST_CASE("who was named is named once for a step", "[heirs]") {
  Heirs heirs(2);
  heirs.gone(1);
  const Asked named{{.heir = 0, .ranks = {1}}};
  CHECK(heirs.name({true, false}, {true, false}) == named);
  CHECK(heirs.name({true, false}, {true, false}).empty());
  heirs.commit();
  CHECK(heirs.name({true, false}, {true, false}) == named);
  heirs.commit();
  heirs.come(1);
  CHECK(heirs.name({true, false}, {true, false}).empty());
}

TEST_CASE("the absent are shared out among those who wait", "[heirs]") {
  Heirs heirs(6);
  for (const std::int64_t rank : {1, 3, 4}) heirs.gone(rank);
  const std::vector<bool> given{true, false, true, false, false, true};
  CHECK(heirs.name(given, given) ==
        Asked{{.heir = 2, .ranks = {1}}, {.heir = 5, .ranks = {3}}, {.heir = 0, .ranks = {4}}});
}

TEST_CASE("one heir takes several where nobody else waits", "[heirs]") {
  Heirs heirs(4);
  for (const std::int64_t rank : {1, 2, 3}) heirs.gone(rank);
  const std::vector<bool> given{true, false, false, false};
  CHECK(heirs.name(given, {false, false, false, false}).empty());
  CHECK(heirs.name(given, given) == Asked{{.heir = 0, .ranks = {1, 2, 3}}});
}

TEST_CASE("another is named where an heir is gone, for its own part too", "[heirs]") {
  Heirs heirs(4);
  heirs.gone(3);
  const std::vector<bool> given{true, true, true, false};
  CHECK(heirs.name(given, {false, true, false, false}) == Asked{{.heir = 1, .ranks = {3}}});
  heirs.gone(1);  // its own gradient is here
  CHECK(heirs.name(given, {true, false, false, false}) == Asked{{.heir = 0, .ranks = {3}}});
  heirs.commit();
  CHECK(heirs.name({true, false, true, false}, {true, false, true, false}) ==
        Asked{{.heir = 2, .ranks = {1}}, {.heir = 0, .ranks = {3}}});
}

TEST_CASE("who waits is asked once whenever heirs are named, though for nothing", "[heirs]") {
  Heirs heirs(4);
  heirs.gone(3);
  const std::vector<bool> given{true, true, true, false};
  CHECK(heirs.name(given, {false, true, false, false}) == Asked{{.heir = 1, .ranks = {3}}});
  CHECK(heirs.name(given, {true, false, false, false}) == Asked{{.heir = 0, .ranks = {}}});
  CHECK(heirs.name(given, {true, false, false, false}).empty());
  heirs.gone(1);
  CHECK(heirs.name(given, {true, false, true, false}) ==
        Asked{{.heir = 0, .ranks = {3}}, {.heir = 2, .ranks = {}}});
}

TEST_CASE("nobody is named without the chief, whose death ends the attempt", "[heirs]") {
  Heirs heirs(3);
  heirs.gone(2);
  heirs.gone(0);
  CHECK(heirs.name({false, true, false}, {false, true, false}).empty());
}

TEST_CASE("a gradient that came all the same needs no heir", "[heirs]") {
  Heirs heirs(3);
  heirs.gone(2);
  heirs.gone(1);
  CHECK(heirs.name({true, true, false}, {true, false, false}) == Asked{{.heir = 0, .ranks = {2}}});
}

TEST_CASE("what several ps ask is asked together", "[heirs]") {
  Inheritance all;
  all.add({});
  CHECK_FALSE(all.asked());
  all.add({.step = 5, .ranks = {}});
  CHECK(all == Inheritance{.step = 5, .ranks = {}});
  all.add({.step = 5, .ranks = {1, 4}});
  all.add({});
  all.add({.step = 5, .ranks = {1, 2}});
  CHECK(all == Inheritance{.step = 5, .ranks = {1, 2, 4}});
}

}  // namespace trainyard::runtime
