// Whatever is posted as a job spec, the server answers, and goes on.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/attack/besieged.h"
#include "tests/attack/mutated_json.h"

using namespace trainyard;
using namespace trainyard::attack;

namespace {

// The committed seeds of the fuzz target: short and long forms of every strategy.
std::vector<nlohmann::json> seeds() {
  std::vector<nlohmann::json> documents;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/job_spec")) {
    std::ifstream file(entry.path());
    documents.push_back(nlohmann::json::parse(file));
  }
  REQUIRE(documents.size() >= 5);
  return documents;
}

}  // namespace

TEST_CASE("two thousand spoiled specs, posted and planned, are each answered",
          "[attack][mend-A1]") {
  Besieged besieged;
  const std::vector<nlohmann::json> documents = seeds();
  MutatedJson mutated(number_from_environment("ATTACK_SEED", 1));
  const std::set<long> fair{200, 201, 400, 413, 422, 429};
  int refused = 0;
  for (int i = 0; i < fewer(2000); ++i) {
    const std::string spec = mutated.next(documents);
    for (const char* path : {"/v1/jobs?dry_run=true", "/v1/jobs"}) {
      const e2e::Answer answer = e2e::post(besieged.yard.url(path), spec);
      INFO("spec " << i << " of ATTACK_SEED: " << spec.substr(0, 2000));
      INFO("answer: " << answer.body.substr(0, 2000));
      REQUIRE(fair.contains(answer.status));
      refused += answer.status >= 400 ? 1 : 0;
      if (answer.status != 201) continue;
      const auto id = answer.json().at("id").get<std::string>();
      CHECK(e2e::post(besieged.yard.url("/v1/jobs/" + id + "/cancel")).status < 300);
    }
  }
  CHECK(refused > fewer(1000));
  besieged.check_it_stood();
}
