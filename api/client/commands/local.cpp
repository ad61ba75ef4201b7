// trainyard local: a server and one agent together, the embedded default for one machine.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/local_yard.h"
#include "schemas/settings/settings.h"
#include "schemas/types/transport.h"

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
  std::optional<std::string> address;
  std::optional<std::string> listen_address;
  std::vector<std::string> labels;
  std::vector<std::string> data_roots;
  std::vector<std::string> allowed_env;
  std::optional<std::string> runtime;
  std::optional<std::string> transport;
  std::optional<std::string> log_bytes_max;
  std::optional<std::string> job_ttl_days;
  std::optional<std::string> log_level;
  bool insecure = false;
  bool adopt_state = false;
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
  ::umask(077);                  // what is kept is this user's alone
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
  pass_on("--address", options.address);
  pass_on("--listen-address", options.listen_address);
  for (const std::string& label : options.labels) pass_on("--label", label);
  for (const std::string& root : options.data_roots) pass_on("--data-root", root);
  for (const std::string& pattern : options.allowed_env) pass_on("--allow-env", pattern);
  pass_on("--runtime", options.runtime);
  pass_on("--transport", options.transport);
  pass_on("--log-bytes-max", options.log_bytes_max);
  pass_on("--log-level", options.log_level);
  std::vector<std::string>& server = options.yard.server_arguments;
  if (options.insecure) server.emplace_back("--insecure");
  if (options.adopt_state) server.emplace_back("--adopt-state");
  if (options.log_level) server.insert(server.end(), {"--log-level", *options.log_level});
  const auto serve_with = [&server](const char* flag, const std::optional<std::string>& value) {
    if (value) server.insert(server.end(), {flag, *value});
  };
  serve_with("--log-bytes-max", options.log_bytes_max);
  serve_with("--job-ttl-days", options.job_ttl_days);
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
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("--memory-mb", options->memory_mb, "Memory for tasks (default: what is there)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--gpus", options->gpus, "GPUs for tasks (default: what is there)")
      ->check(CLI::Range(0, 1024));
  command->add_option("--ports", options->ports, "FIRST-LAST, on which tasks listen");
  command->add_option("--name", options->name, "Name of the agent (default: the host's)");
  command->add_option("--work-dir", options->yard.agent_work_dir,
                      "Folder of the agent (default: agent/ in the state folder)");
  command->add_option("--address", options->address, "At which tasks are reached by one another");
  command->add_option("--listen-address", options->listen_address,
                      "That tasks listen on, where it is another than --address");
  command->add_option("--label", options->labels,
                      "KEY=VALUE, may be repeated: jobs can ask for it");
  command->add_option("--data-root", options->data_roots,
                      "Folder that jobs may read data in, may be repeated (default: any)");
  command->add_option("--allow-env", options->allowed_env,
                      "NAME or PREFIX*, may be repeated: variables that a job's env may set too");
  command
      ->add_option("--transport", options->transport,
                   "The best way to parameter servers that tasks may try")
      ->check(CLI::IsMember(all_transport_names()));
  command->add_option("--log-bytes-max", options->log_bytes_max,
                      "Of each task's log, at the server and on the agent's disk");
  command->add_option("--job-ttl-days", options->job_ttl_days,
                      "Days after which a job that has ended is removed (default: never)");
  command->add_option("--runtime", options->runtime,
                      "The program that a task runs (default: beside this one)");
  command
      ->add_option("--log-level", options->log_level, "Of server and agent: least that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  command->add_flag("--insecure", options->insecure, "Allow addresses beyond this machine");
  command->add_flag("--adopt-state", options->adopt_state,
                    "Start although the database is not the one of the state folder: what it does "
                    "not know goes to lost+found/ there, for 7 days");
  read_variables(*command);
  command->callback([options, &session] { session.exit_code = run(*options); });
}

}  // namespace trainyard::client
