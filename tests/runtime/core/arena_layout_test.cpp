// Variables cut by shares.
#include "runtime/core/arena_layout.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

const std::vector<Variable> two_variables{
    {.name = "kernel", .shape = {10, 2}, .offset = 0, .elements = 20},
    {.name = "bias", .shape = {2}, .offset = 32, .elements = 2}};

}  // namespace

TEST_CASE("a share of everything has each variable whole", "[arena_layout]") {
  const Share all{.ranges = {{0, 48}}};
  CHECK(parts_of(two_variables, all) ==
        std::vector<VariablePart>{{.variable = 0, .begin = 0, .end = 20, .in_share = 0},
                                  {.variable = 1, .begin = 0, .end = 2, .in_share = 32}});
}

TEST_CASE("a cut in the middle of a variable gives each side its elements", "[arena_layout]") {
  const Share left{.ranges = {{0, 7}, {33, 48}}};
  const Share right{.ranges = {{7, 33}}};
  CHECK(parts_of(two_variables, left) ==
        std::vector<VariablePart>{{.variable = 0, .begin = 0, .end = 7, .in_share = 0},
                                  {.variable = 1, .begin = 1, .end = 2, .in_share = 7}});
  CHECK(parts_of(two_variables, right) ==
        std::vector<VariablePart>{{.variable = 0, .begin = 7, .end = 20, .in_share = 0},
                                  {.variable = 1, .begin = 0, .end = 1, .in_share = 25}});
}

TEST_CASE("padding between variables is in no part", "[arena_layout]") {
  CHECK(parts_of(two_variables, Share{.ranges = {{20, 32}}}).empty());
}

TEST_CASE("gaps are what no variable has", "[arena_layout]") {
  const std::vector<Variable> variables{{.name = "a", .shape = {}, .offset = 0, .elements = 32},
                                        {.name = "b", .shape = {}, .offset = 32, .elements = 5},
                                        {.name = "c", .shape = {}, .offset = 48, .elements = 10}};
  CHECK(gaps_of(variables, 64) == std::vector<Range>{{37, 48}, {58, 64}});
  CHECK(gaps_of(variables, 58) == std::vector<Range>{{37, 48}});
  CHECK(gaps_of({}, 7) == std::vector<Range>{{0, 7}});
}

TEST_CASE("a frozen variable and the padding around it are one gap", "[arena_layout]") {
  std::vector<Variable> variables{{.name = "a", .shape = {}, .offset = 0, .elements = 5},
                                  {.name = "b", .shape = {}, .offset = 16, .elements = 5},
                                  {.name = "c", .shape = {}, .offset = 32, .elements = 5}};
  variables[1].update = UpdateRule::none;
  CHECK(gaps_of(variables, 48) == std::vector<Range>{{5, 32}, {37, 48}});
  variables[2].update = UpdateRule::none;
  CHECK(gaps_of(variables, 48) == std::vector<Range>{{5, 48}});
}

TEST_CASE("state begins with the first running average", "[arena_layout]") {
  std::vector<Variable> variables{{.name = "a", .shape = {}, .offset = 0, .elements = 5},
                                  {.name = "b", .shape = {}, .offset = 1024, .elements = 5},
                                  {.name = "c", .shape = {}, .offset = 1040, .elements = 5}};
  CHECK(state_begin_of(variables) == no_state);
  CHECK(state_begin_of({}) == no_state);
  variables[0].update = UpdateRule::none;
  variables[1].update = variables[2].update = UpdateRule::running_average;
  CHECK(state_begin_of(variables) == 1024);
}

}  // namespace trainyard::runtime
