// How the parameters of a job are divided, in its explanation.
#include <catch2/catch.hpp>

#include "tests/api/routes/api_yard.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

namespace {

Partition a_partition(std::int64_t bytes) {
  return {.policy = Partitioning::chunks,
          .shares = {{.task = "ps/0",
                      .bytes = bytes,
                      .transport = "shared memory",
                      .variables = {{.name = "dense_0/kernel", .bytes = bytes, .pieces = 1}}}},
          .tables = {}};
}

}  // namespace

TEST_CASE("a running job's explanation shows how its parameters are divided", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  CHECK(yard.json(200, "GET " + run.path("/explain")).at("partition").is_null());

  run.tell_partition(a_partition(31'400));

  const json shown = yard.json(200, "GET " + run.path("/explain")).at("partition");
  CHECK(shown.at("attempt") == 1);
  CHECK(shown.at("policy") == "chunks");
  CHECK(shown.at("bytes") == 31'400);
  CHECK(shown.at("balance") == 1.0);
  REQUIRE(shown.at("shares").size() == 1);
  CHECK(shown.at("shares")[0].at("task") == "ps/0");
  CHECK(shown.at("shares")[0].at("transport") == "shared memory");
  CHECK(shown.at("shares")[0].at("variables")[0].at("name") == "dense_0/kernel");
}

TEST_CASE("a later attempt's division takes the place of the last, which is shown until then",
          "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.tell_partition(a_partition(100));
  run.start_again();
  CHECK(yard.json(200, "GET " + run.path("/explain")).at("partition").at("attempt") == 1);

  run.tell_partition(a_partition(200));

  const json shown = yard.json(200, "GET " + run.path("/explain")).at("partition");
  CHECK(shown.at("attempt") == 2);
  CHECK(shown.at("bytes") == 200);
}

TEST_CASE("a job that has ended still shows how its parameters were divided", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.tell_partition(a_partition(100));
  run.end_well();
  const json explained = yard.json(200, "GET " + run.path("/explain"));
  CHECK(explained.at("state") == "succeeded");
  CHECK(explained.at("partition").at("bytes") == 100);
}
