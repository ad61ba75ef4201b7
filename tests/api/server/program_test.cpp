// The program trainyard-server: its options and its first line.
#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "api/client/child.h"
#include "tests/api/client/folder.h"

namespace trainyard::api {
namespace {

using client::Child;
using client::Folder;

// trainyard-server with what a shell command line gives it: variables, then flags.
class ServerProgram {
 public:
  ServerProgram(const std::string& variables, const std::string& flags)
      : child_(Child::start("server", {"/bin/sh", "-c", command(variables, flags)}).value()) {}

  // The first line it says; "" when it ended without one.
  std::string first_line() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline && child_.error_output() >= 0) {
      pollfd readable{child_.error_output(), POLLIN, 0};
      poll(&readable, 1, 100);
      const auto lines = child_.read_lines();
      if (!lines.empty()) return lines.front();
    }
    return "";
  }

  int end() {
    child_.send_signal(SIGTERM);
    while (child_.running()) {
      poll(nullptr, 0, 10);
      child_.read_lines();
      child_.reap();
    }
    return child_.exit_status();
  }

 private:
  static std::string command(const std::string& variables, const std::string& flags) {
    const char* programs = std::getenv("TRAINYARD_BIN");
    if (programs == nullptr) FAIL("TRAINYARD_BIN does not name the folder of the programs");
    return variables + " exec " + programs + "/trainyard-server --agent-address 127.0.0.1:0 " +
           flags;
  }
  Child child_;
};

}  // namespace

TEST_CASE("a server's flag wins over the variable, the variable over the config file",
          "[program]") {
  const Folder folder;
  std::ofstream(folder.file("c.json"))
      << R"({"http_address": "127.0.0.1:0", "state_dir": ")" << folder.file("of-file") << "\"}";
  const std::string config = "--config " + folder.file("c.json") + " ";
  const std::string variable = "TRAINYARD_STATE_DIR=" + folder.file("of-variable");
  const auto state_dir = [](ServerProgram server) {
    const auto line = nlohmann::json::parse(server.first_line(), nullptr, false);
    CHECK(line["event"] == "listening");
    CHECK(line["http_address"].get<std::string>().starts_with("127.0.0.1:"));
    CHECK(server.end() == 0);
    return line["state_dir"].get<std::string>();
  };

  CHECK(state_dir({"", config}) == folder.file("of-file"));
  CHECK(state_dir({variable, config}) == folder.file("of-variable"));
  CHECK(state_dir({variable, config + "--state-dir " + folder.file("of-flag")}) ==
        folder.file("of-flag"));
}

TEST_CASE("a server refuses a wrong value by its source", "[program]") {
  const Folder folder;
  std::ofstream(folder.file("c.json")) << R"({"stop_after_seconds": 0})";
  ServerProgram of_file("", "--config " + folder.file("c.json"));
  CHECK_THAT(of_file.first_line(), Catch::Contains("\"stop_after_seconds\" in "));
  CHECK(of_file.end() != 0);
  ServerProgram of_variable("TRAINYARD_LOG_LEVEL=loud", "--state-dir " + folder.file("s"));
  CHECK_THAT(of_variable.first_line(), Catch::Contains("TRAINYARD_LOG_LEVEL: "));
  CHECK(of_variable.end() != 0);
}

}  // namespace trainyard::api
