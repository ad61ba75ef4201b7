// Clients that ask for much and read nothing.
#include <catch2/catch.hpp>

#include "schemas/base/open_files.h"
#include "tests/api/http/raw_client.h"
#include "tests/attack/besieged.h"

using namespace trainyard;
using namespace trainyard::attack;

namespace {

std::string address_of(const e2e::Yard& yard) { return yard.url("").substr(7); }

// Jobs that wait for ever, each with a long text in it.
void fill_list(e2e::Yard& yard, int jobs) {
  auto spec = e2e::small_job(50);
  spec["env"] = {{"TRAINYARD_USER_NOTE", std::string(30'000, 'x')}};
  for (int i = 0; i < jobs; ++i) {
    const auto answer = e2e::post(yard.url("/v1/jobs"), spec.dump());
    INFO(answer.body);
    REQUIRE(answer.status == 201);
  }
}

}  // namespace

TEST_CASE("a thousand readers that do not read cost the others nothing", "[attack][mend-A6]") {
  raise_open_files();
  Besieged besieged;
  fill_list(besieged.yard, 100);
  std::vector<api::RawClient> readers;
  for (int i = 0; i < fewer(1000); ++i) {
    readers.emplace_back(address_of(besieged.yard));
    readers.back().request("GET /v1/jobs?limit=500");
  }
  besieged.check_health();
  readers.clear();
  besieged.check_job();
}

TEST_CASE("five thousand event streams leave room for everybody else", "[attack][mend-A6]") {
  raise_open_files();
  Besieged besieged;
  std::vector<api::RawClient> streams;
  for (int i = 0; i < fewer(5000); ++i) {
    streams.emplace_back(address_of(besieged.yard));
    streams.back().request("GET /v1/jobs/" + besieged.job + "/events",
                           "Accept: text/event-stream\r\n");
  }
  besieged.check_health();
  streams.clear();
  besieged.check_job();
}
