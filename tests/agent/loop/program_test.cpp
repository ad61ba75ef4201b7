// The program trainyard-agent itself: its options and its signals.
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent/host/ports.h"
#include "agent/process/process_table.h"
#include "tests/agent/loop/agent_program.h"
#include "tests/agent/loop/server_double.h"
#include "tests/support/program_path.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

// How often the text has the words.
std::size_t times(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

// An address of this host where nobody listens.
constexpr const char* nobody = "127.0.0.1:1";

}  // namespace

TEST_CASE("a flag wins over the environment, which wins over the config file", "[program]") {
  const TempFolder folder;
  write_content(folder.path("agent.json"), R"({"name": "of-the-file", "cpus": 3, "gpus": 5,
      "memory_mb": 300, "runtime": "/bin/true", "work-dir": "work", "label": {"zone": "a"}})");

  AgentProgram agent(folder,
                     {"--config", "agent.json", "--server", nobody, "--name", "of-the-flag"},
                     {{"TRAINYARD_NAME", "of-the-environment"}, {"TRAINYARD_CPUS", "4"}});

  const nlohmann::json line = agent.first_line();
  CHECK(line["event"] == "connecting");
  CHECK(line["server"] == nobody);
  CHECK(line["name"] == "of-the-flag");
  CHECK(line["cpus"] == 4);
  CHECK(line["gpus"] == 5);
  CHECK(line["memory_mb"] == 300);
  agent.signal(SIGTERM);
  CHECK(agent.wait().code == 0);
}

TEST_CASE("a wrong option is wrong usage, exit code 2, and a sentence names it", "[program]") {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string named;
    int exit_code = 2;
  };
  const std::vector<Wrong> cases = {
      {{}, "--work-dir"},
      {{"--work-dir", "w", "--server", "here"}, "--server"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--ports", "9-1"}, "--ports"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--ports", "1-70000"}, "--ports"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--label", "x"}, "--label"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--name", "box 1"}, "--name must be 1 to 128"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--name", ""}, "--name must be 1 to 128"},
      {{"--work-dir", "w", "--runtime", "/no/such/program"}, "--runtime"},
      {{"--work-dir", "w", "--cpus", "many"}, "--cpus"},
      {{"--work-dir", "w", "--log-level", "loud"}, "--log-level"},
      {{"--work-dir", "w", "--transport", "grpc"}, "shared_memory,unix,tcp"},
      {{"--config", "/no/such/file"}, "/no/such/file"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--address", "192.0.2.1"}, "--address"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--listen-address", "192.0.2.1"},
       "--listen-address"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--data-root", "/no/such"}, "--data-root"},
      {{"--colour", "green"}, "--colour"},
      {{"--work-dir", "w", "--runtime", "/bin/true", "--server", "no-such-host.invalid:1"},
       "no-such-host.invalid",
       1},
      {{"--work-dir", "/proc/1/nothing", "--runtime", "/bin/true"}, "/proc/1/nothing", 1},
  };
  for (const Wrong& wrong : cases) {
    const TempFolder folder;
    AgentProgram agent(folder, wrong.arguments);
    INFO(wrong.named);
    CHECK(agent.wait().code == wrong.exit_code);
    CHECK_THAT(agent.output(),
               Catch::StartsWith("trainyard-agent: ") && Catch::Contains(wrong.named));
  }
}

TEST_CASE("the agent's variable is its own, and a URL is told from HOST:PORT",
          "[program][mend-B9]") {
  const TempFolder folder;
  AgentProgram agent(folder, {"--work-dir", "work", "--runtime", "/bin/true"},
                     {{"TRAINYARD_AGENT_SERVER", nobody},
                      {"TRAINYARD_SERVER", "http://127.0.0.1:8080"}});  // the client's
  CHECK(agent.first_line()["server"] == nobody);
  agent.signal(SIGTERM);
  CHECK(agent.wait().code == 0);

  AgentProgram wrong(folder, {"--work-dir", "work", "--runtime", "/bin/true"},
                     {{"TRAINYARD_AGENT_SERVER", "http://127.0.0.1:8080"}});
  CHECK(wrong.wait().code == 2);
  CHECK_THAT(wrong.output(), Catch::Contains("TRAINYARD_AGENT_SERVER) must be HOST:PORT") &&
                                 Catch::Contains("in TRAINYARD_SERVER"));
}

TEST_CASE("the first lines say what was set and what that means", "[program][mend-B1][mend-B14]") {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--server", nobody,      "--work-dir",
                                              "work",     "--runtime", "/bin/true"};
  const auto with = [&arguments](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    return more;
  };
  const auto range = ephemeral_ports();
  REQUIRE(range);
  const std::string inside = std::to_string(range->first) + "-" + std::to_string(range->first + 9);
  {
    AgentProgram agent(folder, with({"--ports", inside, "--data-root", folder.path()}));
    CHECK(eventually(
        [&] { return agent.output().find("ports_are_ephemeral") != std::string::npos; }));
    CHECK_THAT(agent.output(), Catch::Contains("in these folders alone"));
    agent.signal(SIGTERM);
    agent.wait();
  }
  const TempFolder other;
  AgentProgram agent(other, arguments);
  CHECK(eventually(
      [&] { return agent.output().find("--data-root limits it") != std::string::npos; }));
  agent.signal(SIGTERM);
  agent.wait();
  CHECK_THAT(agent.output(), !Catch::Contains("ports_are_ephemeral"));
}

TEST_CASE("an agent whose GPU is being measured ends at once when it is told to",
          "[program][gpu]") {
  const TempFolder folder;
  folder.write("libtrainyard-cuda.so", "plugin");
  folder.write("shown", "gpu GPU-a 15360 41 30500 70 1024 0 NVIDIA T4\n");
  folder.write("runtime", "#!/bin/sh\necho $$ > '" + folder.path("pid") + "'\nexec sleep 1000\n");
  std::filesystem::permissions(folder.path("runtime"), std::filesystem::perms::owner_all);
  AgentProgram agent(folder, {"--server", nobody, "--work-dir", "work", "--runtime", "./runtime"},
                     {{"TRAINYARD_NVML", program_path("../tests/nvml_double.so")},
                      {"NVML_DOUBLE", folder.path("shown")}});
  REQUIRE(eventually([&] { return content_of(folder.path("pid")).ends_with("\n"); }));

  agent.signal(SIGTERM);

  CHECK(agent.wait().code == 0);
  CHECK_THAT(agent.output(), Catch::Contains("the agent is to stop"));
  CHECK_FALSE(find_process(std::stoll(content_of(folder.path("pid")))));
}

TEST_CASE("a config file with an unknown name is refused", "[program]") {
  const TempFolder folder;
  write_content(folder.path("agent.json"), R"({"cpu": 3})");
  AgentProgram agent(folder, {"--config", "agent.json", "--work-dir", "work"});
  CHECK(agent.wait().code == 2);
  CHECK_THAT(agent.output(), Catch::Contains("\"cpu\""));
}

TEST_CASE("a wrong value is refused by the variable or the file that it came from", "[program]") {
  const TempFolder folder;
  write_content(folder.path("agent.json"), R"({"gpus": "some"})");
  AgentProgram of_file(folder, {"--config", "agent.json", "--work-dir", "work"});
  CHECK(of_file.wait().code == 2);
  CHECK_THAT(of_file.output(), Catch::Contains("\"gpus\" in agent.json"));

  AgentProgram of_variable(folder, {"--work-dir", "work"}, {{"TRAINYARD_LOG_LEVEL", "loud"}});
  CHECK(of_variable.wait().code == 2);
  CHECK_THAT(of_variable.output(), Catch::Contains("TRAINYARD_LOG_LEVEL: "));
}

TEST_CASE("a second agent on one work folder ends at once and says why", "[program]") {
  const TempFolder folder;
  const std::vector<std::string> arguments = {"--server", nobody,      "--work-dir",
                                              "work",     "--runtime", "/bin/true"};
  const AgentProgram first(folder, arguments);
  REQUIRE(first.first_line()["event"] == "connecting");
  const TempFolder other;
  std::vector<std::string> same_work = arguments;
  same_work[3] = folder.path("work");

  AgentProgram second(other, same_work);

  CHECK(second.wait().code == 1);
  CHECK_THAT(second.output(), Catch::Contains("another agent"));
}

TEST_CASE("an agent that is refused says once why, and is connected once it is taken",
          "[program]") {
  ServerDouble server;
  server.refuse_agents({grpc::StatusCode::ALREADY_EXISTS, "another agent has the name"});
  const TempFolder folder;
  AgentProgram agent(
      folder, {"--server", server.address(), "--work-dir", "work", "--runtime", "/bin/true"});
  REQUIRE(server.wait_for_refusals(4));

  const std::string refused = agent.output();
  CHECK(times(refused, "\"server_refuses\"") == 1);
  CHECK(times(refused, "another agent has the name") == 1);
  CHECK(times(refused, "\"server_lost\"") == 0);
  CHECK(times(refused, "\"connected\"") == 0);

  server.refuse_agents(grpc::Status::OK);
  CHECK(eventually([&] { return times(agent.output(), "\"connected\"") == 1; }));
  agent.signal(SIGTERM);
  CHECK(agent.wait().code == 0);
}

}  // namespace trainyard::agent
