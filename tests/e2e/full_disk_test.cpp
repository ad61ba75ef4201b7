// A disk that is full on an agent's host: a small one of the test's own, in a namespace.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/e2e/yard.h"
#include "tests/support/program_path.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

bool may_mount() {
  return std::system("unshare -rm sh -c 'mount -t tmpfs tmpfs /mnt' 2>/dev/null") == 0;
}

// An agent whose work folder is on a disk of that size.
std::string agent_on_small_disk(const Yard& yard, const std::string& name,
                                const std::string& size) {
  const std::string script = yard.folder().path("small-disk");
  const std::string work = yard.folder().path("agent-" + name);
  std::ofstream(script) << "#!/bin/sh\nmkdir -p " << work << "\nexec unshare -rm sh -c "
                        << "'mount -t tmpfs -o size=" << size << " tmpfs " << work
                        << " && exec \"$0\" \"$@\"' " << program_path("trainyard-agent")
                        << " \"$@\"\n";
  ::chmod(script.c_str(), 0700);
  return script;
}

}  // namespace

TEST_CASE("a full disk is said with its folder and not tried a hundred times", "[e2e][mend-B3]") {
  if (!may_mount()) {
    WARN("not checked: a disk of its own cannot be mounted here");
    return;
  }
  Yard yard;
  // One shard is 318 kB: the first fits, the second does not beside it.
  yard.set_agent_program(agent_on_small_disk(yard, "a", "500k"));
  yard.start_agent("a");
  yard.wait_for_agents(1);
  auto spec = small_job(100'000);
  spec["roles"]["worker"] = 1;
  spec["run_policy"]["max_restarts"] = 1;

  const std::string id = yard.submit(spec);
  const auto status = yard.wait_for_state(id, "failed").at("status");

  CHECK(status.at("attempt") == 2);
  CHECK(status.at("restarts").at("user") == 1);
  CHECK(status.at("reason") == "RESTARTS_EXHAUSTED");
  CHECK(status.at("first_failure").at("reason") == "NO_SPACE");
  CHECK_THAT(status.at("message").get<std::string>(),
             Catch::Contains("NO_SPACE") && Catch::Contains(yard.folder().path("agent-a")));
  // It goes on from what was committed.
  CHECK(status.at("latest_checkpoint").get<int>() >= 200);
  CHECK(status.at("step").get<int>() >= status.at("latest_checkpoint").get<int>());
  bool classed = false;
  for (const auto& transition : status.at("transitions")) {
    if (transition.at("reason") == "NO_SPACE") classed = true;
  }
  CHECK(classed);
}
