// The program trainyard-agent itself: its options, its signals, and its sudden death.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "agent/host/process.h"
#include "agent/host/process_table.h"
#include "tests/agent/loop/yard.h"

namespace trainyard::agent {
namespace {

std::string agent_program() {
  if (const char* folder = std::getenv("TRAINYARD_BIN")) {
    return std::string(folder) + "/trainyard-agent";
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path().parent_path() / "bin/trainyard-agent";
}

// Runs trainyard-agent in a folder, with its output in the file "log" there.
class AgentProgram {
 public:
  AgentProgram(const ScratchFolder& folder, const std::vector<std::string>& arguments,
               std::map<std::string, std::string> environment = {})
      : log_(folder.file("log")) {
    ProcessSpec spec{.argv = {agent_program()},
                     .environment = std::move(environment),
                     .folder = folder.path(),
                     .log_path = log_};
    spec.environment["PATH"] = "/usr/bin:/bin";
    for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) spec.environment[name] = value;
    }
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    const auto pid = host_.start(spec, [this](const ProcessEnd& end) { end_.set(end.exit); });
    REQUIRE(pid);
    pid_ = *pid;
  }

  void signal(int number) const { ::kill(static_cast<pid_t>(pid_), number); }

  ExitStatus wait() {
    const auto end = end_.wait();
    REQUIRE(end);
    return *end;
  }

  [[nodiscard]] std::string output() const { return content_of(log_); }

  // Its first log line, once it is there.
  [[nodiscard]] nlohmann::json first_line() const {
    REQUIRE(eventually([&] { return output().find('\n') != std::string::npos; }));
    const std::string text = output();
    return nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
  }

 private:
  std::string log_;
  std::int64_t pid_ = 0;
  Awaited<ExitStatus> end_;
  ProcessHost host_;
};

// An address of this host where nobody listens.
constexpr const char* nobody = "127.0.0.1:1";

}  // namespace

TEST_CASE("a flag wins over the environment, which wins over the config file", "[program]") {
  const ScratchFolder folder;
  write_content(folder.file("agent.json"), R"({"name": "of-the-file", "cpus": 3, "gpus": 5,
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

TEST_CASE("a wrong option ends the agent with a sentence that names it", "[program]") {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string named;
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
      {{"--config", "/no/such/file"}, "/no/such/file"},
      {{"--colour", "green"}, "--colour"},
      {{"--work-dir", "/proc/1/nothing", "--runtime", "/bin/true"}, "/proc/1/nothing"},
  };
  for (const Wrong& wrong : cases) {
    const ScratchFolder folder;
    AgentProgram agent(folder, wrong.arguments);
    CHECK(agent.wait().code != 0);
    CHECK_THAT(agent.output(), Catch::Contains(wrong.named));
  }
}

TEST_CASE("a config file with an unknown name is refused", "[program]") {
  const ScratchFolder folder;
  write_content(folder.file("agent.json"), R"({"cpu": 3})");
  AgentProgram agent(folder, {"--config", "agent.json", "--work-dir", "work"});
  CHECK(agent.wait().code == 1);
  CHECK_THAT(agent.output(), Catch::Contains("\"cpu\""));
}

TEST_CASE("a wrong value is refused by the variable or the file that it came from", "[program]") {
  const ScratchFolder folder;
  write_content(folder.file("agent.json"), R"({"gpus": "some"})");
  AgentProgram of_file(folder, {"--config", "agent.json", "--work-dir", "work"});
  CHECK(of_file.wait().code == 1);
  CHECK_THAT(of_file.output(), Catch::Contains("\"gpus\" in agent.json"));

  AgentProgram of_variable(folder, {"--work-dir", "work"}, {{"TRAINYARD_LOG_LEVEL", "loud"}});
  CHECK(of_variable.wait().code == 1);
  CHECK_THAT(of_variable.output(), Catch::Contains("TRAINYARD_LOG_LEVEL: "));
}

TEST_CASE("a second agent on one work folder ends at once and says why", "[program]") {
  const ScratchFolder folder;
  const std::vector<std::string> arguments = {"--server", nobody,      "--work-dir",
                                              "work",     "--runtime", "/bin/true"};
  const AgentProgram first(folder, arguments);
  REQUIRE(first.first_line()["event"] == "connecting");
  const ScratchFolder other;
  std::vector<std::string> same_work = arguments;
  same_work[3] = folder.file("work");

  AgentProgram second(other, same_work);

  CHECK(second.wait().code == 1);
  CHECK_THAT(second.output(), Catch::Contains("another agent"));
}

TEST_CASE("an agent killed with SIGKILL leaves no task, and its successor starts afresh",
          "[program]") {
  ServerDouble server;
  const ScratchFolder folder;
  write_content(folder.file("runtime"),
                "#!/bin/sh\n"
                "echo '{\"time\":\"2026-11-20T19:40:00.000Z\",\"kind\":\"phase\","
                "\"phase\":\"running\",\"detail\":\"\"}' >> events.jsonl\n"
                "sleep 600 &\nwait\n");
  std::filesystem::permissions(folder.file("runtime"), std::filesystem::perms::owner_all);
  const std::vector<std::string> arguments = {"--server", server.address(), "--work-dir",
                                              "work",     "--runtime",      "runtime",
                                              "--name",   "agent-1"};
  const TaskKey key = a_wanted_task("j-1").task.key;
  server.want(a_wanted_task("j-1"));
  AgentProgram agent(folder, arguments);
  const auto running = server.wait_for_task(key, is_running_state);
  REQUIRE(running);
  std::int64_t epoch = 0;
  REQUIRE(server.wait_for_report([&](const AgentReport& report) {
    epoch = report.epoch;
    return true;
  }));

  agent.signal(SIGKILL);
  CHECK(agent.wait().signal == SIGKILL);
  server.stop_wanting(key);
  const AgentProgram successor(folder, arguments);

  CHECK(server.wait_for_report(
      [&](const AgentReport& report) { return report.epoch > epoch && report.tasks.empty(); }));
  // With the task went what it had started: the kernel killed the one, the successor the other.
  CHECK(running_in_group(running->pid).empty());
}

}  // namespace trainyard::agent
