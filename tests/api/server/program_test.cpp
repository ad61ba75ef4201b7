// The program trainyard-server: its options and its first line.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/api/server/server_program.h"
#include "tests/support/temp_folder.h"

namespace trainyard::api {

TEST_CASE("a server's flag wins over the variable, the variable over the config file",
          "[program]") {
  const TempFolder folder;
  std::ofstream(folder.path("c.json"))
      << R"({"http_address": "127.0.0.1:0", "state_dir": ")" << folder.path("of-file") << "\"}";
  const std::string config = "--config " + folder.path("c.json") + " ";
  const std::string variable = "TRAINYARD_STATE_DIR=" + folder.path("of-variable");
  const auto state_dir = [](ServerProgram server) {
    const auto line = nlohmann::json::parse(server.first_line(), nullptr, false);
    CHECK(line["event"] == "listening");
    CHECK(line["http_address"].get<std::string>().starts_with("127.0.0.1:"));
    CHECK(server.end() == 0);
    return line["state_dir"].get<std::string>();
  };

  CHECK(state_dir({"", config}) == folder.path("of-file"));
  CHECK(state_dir({variable, config}) == folder.path("of-variable"));
  CHECK(state_dir({variable, config + "--state-dir " + folder.path("of-flag")}) ==
        folder.path("of-flag"));
}

TEST_CASE("a server refuses a wrong value by its source", "[program]") {
  const TempFolder folder;
  folder.write("c.json", R"({"stop_after_seconds": 0})");
  ServerProgram of_file("", "--config " + folder.path("c.json"));
  CHECK_THAT(of_file.first_line(), Catch::Contains("\"stop_after_seconds\" in "));
  CHECK(of_file.end() != 0);
  ServerProgram of_variable("TRAINYARD_LOG_LEVEL=loud", "--state-dir " + folder.path("s"));
  CHECK_THAT(of_variable.first_line(), Catch::Contains("TRAINYARD_LOG_LEVEL: "));
  CHECK(of_variable.end() != 0);
}

}  // namespace trainyard::api
