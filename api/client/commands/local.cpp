// trainyard local: a server and one agent together, the embedded default for one machine.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "api/client/commands/command.h"
#include "api/client/commands/json_config.h"
#include "api/client/local_yard.h"

namespace trainyard::client {
namespace {

// On one machine all tasks of a job share the cores, as they would in one process; counting each
// task's cpu against the real ones would let a laptop run no more than a handful of tasks.
constexpr unsigned local_cpus_min = 16;

struct LocalOptions {
  LocalYardOptions yard;
  unsigned cpus = std::max(local_cpus_min, std::thread::hardware_concurrency());
  std::optional<std::string> memory_mb;
  std::optional<std::string> gpus;
  std::optional<std::string> ports;
  std::optional<std::string> name;
  bool insecure = false;
};

std::string default_state_dir() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/trainyard";
  }
  const char* home = std::getenv("HOME");
  return (home != nullptr ? std::string(home) + "/.local/state" : std::string("/var/lib")) +
         "/trainyard";
}

int run(LocalOptions& options) {
  unsetenv("TRAINYARD_CONFIG");  // ours; the daemons would take it for theirs
  std::vector<std::string>& agent = options.yard.agent_arguments;
  agent = {"--cpus", std::to_string(options.cpus)};
  const auto pass_on = [&agent](const char* flag, const std::optional<std::string>& value) {
    if (value) agent.insert(agent.end(), {flag, *value});
  };
  pass_on("--memory-mb", options.memory_mb);
  pass_on("--gpus", options.gpus);
  pass_on("--ports", options.ports);
  pass_on("--name", options.name);
  if (options.insecure) options.yard.server_arguments = {"--insecure"};
  const Result<int> exit_code = run_local_yard(options.yard);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace

void add_local(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("local", "Run a server and one agent on this machine");
  const auto options = std::make_shared<LocalOptions>();
  options->yard.state_dir = default_state_dir();
  options->yard.http_address = "127.0.0.1:8080";
  options->yard.agent_address = "127.0.0.1:8081";
  command->add_option("--state-dir", options->yard.state_dir, "Folder of all that is kept")
      ->capture_default_str();
  command
      ->add_option("--http-address", options->yard.http_address, "REST and UI; port 0: a free one")
      ->capture_default_str();
  command
      ->add_option("--agent-address", options->yard.agent_address, "For agents; port 0: a free one")
      ->capture_default_str();
  command
      ->add_option("--cpus", options->cpus, "CPUs that tasks may ask for; they share the real ones")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--memory-mb", options->memory_mb, "Memory for tasks (default: what is there)")
      ->check(CLI::PositiveNumber);
  command->add_option("--gpus", options->gpus, "GPUs for tasks (default: what is there)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--ports", options->ports, "FIRST-LAST, on which tasks listen");
  command->add_option("--name", options->name, "Name of the agent (default: the host's)");
  command->add_flag("--insecure", options->insecure, "Allow addresses beyond this machine");
  read_environment(*command);
  command->callback([options, &session] { session.exit_code = run(*options); });
}

}  // namespace trainyard::client
