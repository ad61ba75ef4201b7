// /readyz asks those who do the work.
#include <catch2/catch.hpp>
#include <future>

#include "tests/api/routes/api_yard.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

TEST_CASE("a scheduler that is stuck makes the server not ready, and says so",
          "[routes][mend-A7]") {
  ApiYard yard;
  const json ready = yard.json(200, "GET /readyz");
  CHECK(ready.at("parts") == json{{"scheduler", "ready"}, {"database", "ready"}});
  std::promise<void> go_on;
  yard.scheduler().agents([go = go_on.get_future().share()](const auto&) { go.wait(); });

  RawResponse answer;
  REQUIRE(eventually([&] {
    answer = yard.call("GET /readyz");
    return answer.status == 503;
  }));
  CHECK(answer.headers.contains("retry-after"));
  const json problem = json::parse(answer.body);
  CHECK(problem.at("code") == "not_ready");
  REQUIRE(problem.at("errors").size() == 1);
  CHECK(problem.at("errors")[0].at("pointer") == "/scheduler");
  CHECK(problem.at("detail").get<std::string>().find("stuck") != std::string::npos);
  CHECK(yard.call("GET /healthz").status == 200);  // the process lives

  go_on.set_value();
  CHECK(eventually([&] { return yard.call("GET /readyz").status == 200; }));
}
