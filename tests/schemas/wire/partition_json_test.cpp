// Partition in run events and rows, and as REST shows it.
#include "schemas/wire/partition_json.h"

#include <catch2/catch.hpp>

#include "tests/schemas/wire/random_values.h"

using namespace trainyard;
using nlohmann::json;

namespace {

Partition two_shares() {
  return {.policy = Partitioning::greedy,
          .shares = {{.task = "ps/0",
                      .bytes = 300,
                      .transport = "unix",
                      .variables = {{.name = "dense_0/kernel", .bytes = 300, .pieces = 2}},
                      .variables_left_out = 1},
                     {.task = "ps/1", .bytes = 100}},
          .tables = {"wide/embedding"}};
}

}  // namespace

TEST_CASE("partitions come back from a row as they were", "[wire]") {
  RandomValues random(3);
  for (int i = 0; i < 300; ++i) {
    const Partition partition = random.partition();
    const auto again = partition_from_row(to_row_json(partition));
    REQUIRE(again);
    CHECK(*again == partition);
  }
}

TEST_CASE("a partition is written as the header promises", "[wire]") {
  CHECK(partition_to_json(two_shares()) == json::parse(R"({
    "policy": "greedy", "tables": ["wide/embedding"], "shares": [
      {"task": "ps/0", "bytes": 300, "transport": "unix", "variables_left_out": 1,
       "variables": [{"name": "dense_0/kernel", "bytes": 300, "pieces": 2}]},
      {"task": "ps/1", "bytes": 100, "transport": "", "variables_left_out": 0,
       "variables": []}]})"));
}

TEST_CASE("what is shown says how even it is, and of which attempt", "[wire]") {
  const json shown = shown_partition_to_json(two_shares(), 3);
  CHECK(shown.at("attempt") == 3);
  CHECK(shown.at("bytes") == 400);
  CHECK(shown.at("balance") == 1.5);
  CHECK(shown.at("shares")[0].at("share") == 0.75);
  CHECK(shown.at("shares")[0].at("transport") == "unix");
  CHECK(shown.at("shares")[1].at("share") == 0.25);
  CHECK(shown.at("shares")[1].at("transport").is_null());
}

TEST_CASE("a partition of nothing is balanced", "[wire]") {
  const json shown = shown_partition_to_json({.shares = {{.task = "ps/0"}, {.task = "ps/1"}}}, 1);
  CHECK(shown.at("balance") == 1.0);
  CHECK(shown.at("shares")[0].at("share") == 0.0);
}

TEST_CASE("a stored partition that is damaged says where", "[wire]") {
  const auto complaint = [](const std::string& pointer, const json& value) {
    json row = partition_to_json(two_shares());
    row[json::json_pointer(pointer)] = value;
    const auto read = partition_from_row(row.dump());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::internal);
    return read.error().message;
  };
  CHECK_THAT(complaint("/policy", "by_luck"), Catch::Contains("/policy"));
  CHECK_THAT(complaint("/shares/0/bytes", -1), Catch::Contains("/shares/0/bytes"));
  CHECK_THAT(complaint("/shares/0/variables/0/name", "a\nb"),
             Catch::Contains("/shares/0/variables/0/name"));
  CHECK_THAT(complaint("/tables", 3), Catch::Contains("/tables"));
  CHECK_FALSE(partition_from_row("{"));
}
