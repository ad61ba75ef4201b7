// How the parameters are divided: by the policy that the spec names, shown to whoever asks, without
// a difference to the model.
#include <catch2/catch.hpp>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

nlohmann::json job_by(const std::string& policy, int ps) {
  auto spec = small_job(300);
  spec["training"]["partitioning"] = policy;
  spec["roles"]["ps"] = ps;
  return spec;
}

nlohmann::json partition_of(Yard& yard, const std::string& id) {
  const Answer answer = get(yard.url("/v1/jobs/" + id + "/explain"));
  REQUIRE(answer.status == 200);
  return answer.json().at("partition");
}

}  // namespace

TEST_CASE("every policy divides the parameters its way and trains to the same bytes", "[e2e]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "32"});
  yard.wait_for_agents(1);
  const std::string chunks = yard.submit(job_by("chunks", 2));
  const std::string turns = yard.submit(job_by("round_robin", 2));
  const std::string greedy = yard.submit(job_by("greedy", 6));  // of four variables
  for (const std::string& id : {chunks, turns, greedy}) yard.wait_for_state(id, "succeeded");

  CHECK(yard.model_sha256(turns) == yard.model_sha256(chunks));
  CHECK(yard.model_sha256(greedy) == yard.model_sha256(chunks));

  constexpr int bytes = 4 * (784 * 100 + 100 + 100 * 10 + 10);
  for (const std::string& id : {chunks, turns, greedy}) {
    CHECK(partition_of(yard, id).at("bytes") == bytes);
    CHECK(partition_of(yard, id).at("attempt") == 1);
  }
  CHECK(partition_of(yard, chunks).at("balance") < 1.02);
  const auto by_turns = partition_of(yard, turns);
  CHECK(by_turns.at("policy") == "round_robin");
  CHECK(by_turns.at("balance").get<double>() == Approx(2 * 4 * (78'400 + 1000) / double{bytes}));
  CHECK(by_turns.at("shares")[0].at("variables")[0].at("name") == "dense_0/kernel");
  CHECK(by_turns.at("shares")[1].at("task") == "ps/1");
  CHECK(by_turns.at("shares")[1].at("transport") == "shared memory");
  const auto six = partition_of(yard, greedy);
  REQUIRE(six.at("shares").size() == 6);
  CHECK(six.at("shares")[5].at("bytes") == 0);
  CHECK(six.at("shares")[5].at("variables").empty());
}

TEST_CASE("how the parameters are divided is known after the server was killed", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(job_by("chunks", 2));
  yard.wait_for_state(id, "succeeded");
  const auto before = partition_of(yard, id);
  REQUIRE(before.is_object());

  yard.kill_server();
  yard.start_server();

  yard.wait_for_state(id, "succeeded");
  CHECK(partition_of(yard, id) == before);
}
