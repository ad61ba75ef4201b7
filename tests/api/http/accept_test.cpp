// Which representation an Accept header asks for.
#include "api/http/accept.h"

#include <catch2/catch.hpp>

using namespace trainyard::api;

TEST_CASE("a type is given where the request prefers it to JSON", "[http]") {
  const auto wants_csv = [](std::string_view accept) {
    return prefers_to_json(accept, "text/csv");
  };
  for (const char* const accept :
       {"text/csv", "TEXT/CSV", " text/csv ;q=0.1", "text/csv, application/json",
        "application/json;q=0.5, text/csv", "text/html, text/csv;header=present;q=0.2, */*;q=0.1",
        "text/csv, */*", "application/json;q=0, text/csv;q=0.001"}) {
    INFO(accept);
    CHECK(wants_csv(accept));
  }
  for (const char* const accept :
       {"", "*/*", "*/*, text/csv;q=0.1", "*/*, text/csv", "text/csv;q=0.9, application/*",
        "text/*", "text/csv;q=0", "text/csv; Q=0.0", "application/json, text/csv",
        "application/json, text/csv;q=0.1", "text/csvs", "not text/csv",
        "text/csv;q=", "text/csv;q=2", "text/csv;q=-1", "text/csv;q=nan", ";,=;q",
        "text/csv;q=0.1, application/json;q=0.9"}) {
    INFO(accept);
    CHECK_FALSE(wants_csv(accept));
  }
}
