// The program trainyard-server: its options and its first line.
#include "tests/api/client/program.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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
  CHECK(of_file.await_end() == 2);
  ServerProgram of_variable("TRAINYARD_LOG_LEVEL=loud", "--state-dir " + folder.path("s"));
  CHECK_THAT(of_variable.first_line(), Catch::Contains("TRAINYARD_LOG_LEVEL: "));
  CHECK(of_variable.await_end() == 2);
}

TEST_CASE("wrong usage of a server is exit code 2, and a sentence names the option", "[program]") {
  const TempFolder folder;
  const std::string state = "--state-dir " + folder.path("s") + " ";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "--state-dir"},
      {state + "--colour green", "--colour"},
      {state + "--stop-after-seconds 0", "--stop-after-seconds"},
      {state + "--lost-after-seconds 5", "--lost-after-seconds"},
      {state + "--http-address 127.0.0.1", "--http-address"},
      {state + "--http-address 127.0.0.1:99999", "--http-address"},
      {state + "--http-address 0.0.0.0:0", "--insecure"},
      {state + "--agent-address 0.0.0.0:0", "--agent-address"},
      {state + "--ui-dir " + folder.path("none"), "--ui-dir"},
      {"--config /no/such/file", "/no/such/file"},
  };
  for (const auto& [arguments, named] : cases) {
    const client::Run refused = client::run_program("trainyard-server", arguments);
    INFO(arguments);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, Catch::StartsWith("trainyard-server: ") && Catch::Contains(named));
    CHECK_FALSE(std::filesystem::exists(folder.path("s")));
  }
}

TEST_CASE("a server that cannot listen says so in its own log alone, exit code 1", "[program]") {
  const TempFolder folder;
  ServerProgram first("", "--http-address 127.0.0.1:0 --state-dir " + folder.path("first"));
  const auto line = nlohmann::json::parse(first.first_line(), nullptr, false);
  const std::string taken = line["agent_address"].get<std::string>();

  const client::Run refused =
      client::run_program("trainyard-server", "--http-address 127.0.0.1:0 --agent-address " +
                                                  taken + " --state-dir " + folder.path("second"));

  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.errors, Catch::Contains("cannot listen for agents on " + taken));
  std::istringstream lines(refused.errors);
  for (std::string each; std::getline(lines, each);) {
    CHECK(nlohmann::json::parse(each, nullptr, false).is_object());
  }
  CHECK(first.end() == 0);
}

TEST_CASE("all programs say their version in one form", "[program]") {
  for (const std::string name :
       {"trainyard-server", "trainyard-agent", "trainyard-runtime", "trainyard"}) {
    const client::Run told = client::run_program(name, "--version");
    CHECK(told.exit_code == 0);
    CHECK_THAT(told.output, Catch::Matches(name + " \\d+\\.\\d+\\.\\d+\n"));
    CHECK(told.errors.empty());
  }
}

TEST_CASE("help goes to the standard output, and says what is required", "[program]") {
  const client::Run agent = client::run_program("trainyard-agent", "--help");
  CHECK(agent.exit_code == 0);
  CHECK_THAT(agent.output, Catch::Contains("its own (required)"));
  const client::Run runtime = client::run_program("trainyard-runtime", "--help");
  CHECK(runtime.exit_code == 0);
  CHECK_THAT(runtime.output, Catch::Contains("trainyard-runtime task.json"));
  const client::Run nothing = client::run_program("trainyard-runtime", "");
  CHECK(nothing.exit_code == 2);
  CHECK(nothing.errors == runtime.output);
}

}  // namespace trainyard::api
