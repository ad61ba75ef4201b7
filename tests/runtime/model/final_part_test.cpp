#include "runtime/model/final_part.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainyard::runtime {

TEST_CASE("the final end of an arena grows with the variables behind which all are final",
          "[final_part]") {
  const std::vector<Variable> variables{{"a", {3}, 0, 3}, {"b", {20}, 16, 20}, {"c", {5}, 48, 5}};

  FinalPart in_order(variables);
  CHECK(in_order.add(2) == 48);
  CHECK(in_order.add(1) == 16);
  CHECK(in_order.add(0) == 0);

  FinalPart mixed(variables);
  CHECK(mixed.add(1) == 53);  // the last is not there yet
  CHECK(mixed.add(0) == 53);
  CHECK(mixed.add(2) == 0);
}

TEST_CASE("a part of the last kernel is final where only state is behind it", "[final_part]") {
  std::vector<Variable> variables{{"a", {3}, 0, 3}, {"b", {20}, 16, 20}, {"mean", {5}, 1024, 5}};
  variables[2].update = UpdateRule::running_average;
  FinalPart part(variables);
  CHECK(part.add_part(1, 12) == 28);
}

TEST_CASE("a part of a variable is final where all behind it is", "[final_part]") {
  const std::vector<Variable> variables{{"a", {3}, 0, 3}, {"b", {20}, 16, 20}, {"c", {5}, 48, 5}};
  FinalPart part(variables);
  CHECK(part.add_part(1, 4) == 53);  // the last is not there yet
  part.add(2);
  CHECK(part.add_part(1, 12) == 28);
  CHECK(part.add_part(1, 4) == 20);
  CHECK(part.add_part(0, 1) == 20);  // the one between is not whole
}

TEST_CASE("neither frozen variables nor state hold up what is final before them", "[final_part]") {
  std::vector<Variable> variables{{"a", {3}, 0, 3},
                                  {"b", {20}, 16, 20},
                                  {"c", {5}, 48, 5},
                                  {"mean", {5}, 1024, 5},
                                  {"variance", {5}, 1040, 5}};
  variables[1].update = UpdateRule::none;
  variables[3].update = variables[4].update = UpdateRule::running_average;

  FinalPart part(variables);
  CHECK(part.add(4) == 1024);
  CHECK(part.add(2) == 16);  // and what is frozen before it
  CHECK(part.add(3) == 16);
  CHECK(part.add(0) == 0);
}

}  // namespace trainyard::runtime
