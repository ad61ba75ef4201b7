// trainyard-conformance, as its user calls it.
#include <sys/wait.h>

#include <catch2/catch.hpp>

#include "tests/e2e/programs.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

// What it says where its exit status is 2.
std::string refusal_of(const std::vector<std::string>& arguments) {
  Program program("trainyard-conformance", arguments);
  const auto status = program.wait(in_seconds(60));
  REQUIRE(status);
  INFO(program.output());
  REQUIRE(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 2);
  return program.output();
}

}  // namespace

TEST_CASE("the conformance program says which argument it does not understand", "[e2e][gpu]") {
  const std::vector<std::vector<std::string>> bad{{"--rounds", "x"},
                                                  {"--rounds", "0"},
                                                  {"--rounds", "99999999999"},
                                                  {"--seed", "-1"},
                                                  {"--seed", "1x"},
                                                  {"--plugin"},
                                                  {"--help"},
                                                  {""},
                                                  {"products"},
                                                  {"dropout", "loss"}};
  for (const auto& arguments : bad) {
    CHECK_THAT(refusal_of(arguments), Catch::Contains("is not understood\nusage: "));
  }
}

TEST_CASE("the conformance program says what its device lacks", "[e2e][gpu]") {
  CHECK_THAT(refusal_of({"speed"}), Catch::Contains("host has 255 MiB free, 257 more are needed"));
}
