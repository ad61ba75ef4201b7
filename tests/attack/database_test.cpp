// An emptied or foreign database beside a full state folder.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/attack/besieged.h"

using namespace trainyard;
using namespace trainyard::attack;

TEST_CASE("a database that was moved aside costs no file, and all is there when it is back",
          "[attack][mend-A4]") {
  namespace fs = std::filesystem;
  Besieged besieged;
  besieged.yard.kill_server();
  const fs::path state = besieged.yard.folder().path("state");
  const fs::path aside = besieged.yard.folder().path("aside");
  fs::create_directory(aside);
  std::vector<fs::path> moved;
  for (const auto& entry : fs::directory_iterator(state)) {
    if (entry.path().filename().string().find(".db") != std::string::npos) {
      moved.push_back(entry.path().filename());
    }
  }
  REQUIRE_FALSE(moved.empty());
  for (const auto& name : moved) fs::rename(state / name, aside / name);

  e2e::Program refused("trainyard-server", {"--state-dir", state, "--http-address", "127.0.0.1:0",
                                            "--agent-address", "127.0.0.1:0"});
  const auto status = refused.wait(in_seconds(30));
  REQUIRE(status);
  CHECK(*status != 0);
  CHECK_THAT(refused.output(), Catch::Contains("--adopt-state"));

  for (const auto& name : moved) {
    fs::remove(state / name);
    fs::rename(aside / name, state / name);
  }
  besieged.yard.start_server();
  besieged.check_job();
}
