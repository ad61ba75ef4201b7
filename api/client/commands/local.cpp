// trainyard local: a server and one agent together, the embedded default for one machine.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
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

enum class Whose { agent, server, both };

// Options of the daemons that are passed on to them as they were given. Bounds are within those of
// the daemons, so that a number out of them is refused before anything starts; the rest they check.
struct NumberOption {
  const char* name;
  Whose whose;
  std::int64_t least;
  std::int64_t most;
  const char* description;
};
constexpr std::array number_options{
    NumberOption{"--memory-mb", Whose::agent, 1, std::int64_t{1} << 40,
                 "Memory for tasks, in MiB (default: what is there)"},
    NumberOption{"--gpus", Whose::agent, 0, 1024, "GPUs for tasks (default: what is there)"},
    NumberOption{"--data-cache-mb", Whose::agent, 0, 1 << 30,
                 "Disk for decoded data sets, in MiB; 0 keeps none (default: 4096)"},
    NumberOption{"--log-bytes-max", Whose::both, 1 << 20, std::int64_t{1} << 50,
                 "Of each task's log, at the server and on the agent's disk"},
    NumberOption{"--job-ttl-days", Whose::server, 0, 36'500,
                 "Days after which a job that has ended is removed; 0 = never (default: 0)"},
    NumberOption{"--stop-after-seconds", Whose::server, 1, 86'400,
                 "How long agents go on without an answer (default: 60)"},
    NumberOption{"--lost-after-seconds", Whose::server, 1, 172'800,
                 "After how long a silent agent's tasks run elsewhere (default: 90)"},
};

enum class Times { once, repeated };
struct TextOption {
  const char* name;
  Whose whose;
  Times times;
  const char* description;
};
constexpr std::array text_options{
    TextOption{"--ports", Whose::agent, Times::once, "FIRST-LAST, on which tasks listen"},
    TextOption{"--name", Whose::agent, Times::once, "Name of the agent (default: the host's)"},
    TextOption{"--address", Whose::agent, Times::once, "At which tasks are reached by one another"},
    TextOption{"--listen-address", Whose::agent, Times::once,
               "That tasks listen on, where it is another than --address"},
    TextOption{"--label", Whose::agent, Times::repeated,
               "KEY=VALUE, may be repeated: jobs can ask for it"},
    TextOption{"--data-root", Whose::agent, Times::repeated,
               "Folder that jobs may read data in, may be repeated (default: any)"},
    TextOption{"--allow-env", Whose::agent, Times::repeated,
               "NAME or PREFIX*, may be repeated: variables that a job's env may set too"},
    TextOption{"--transport", Whose::agent, Times::once,
               "The best way to parameter servers that tasks may try"},
    TextOption{"--runtime", Whose::agent, Times::once,
               "The program that a task runs (default: beside this one)"},
    TextOption{"--ui-dir", Whose::server, Times::once,
               "Folder of the web page (default: the one built with)"},
    TextOption{"--log-level", Whose::both, Times::once,
               "Of server and agent: least that is logged"},
};

struct LocalOptions {
  LocalYardOptions yard;
  unsigned cpus = std::max(local_cpus_min, std::thread::hardware_concurrency());
  std::map<std::string, std::optional<std::int64_t>> numbers;  // by the option's name
  std::map<std::string, std::vector<std::string>> texts;
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

void pass_on(LocalYardOptions& yard, Whose whose, const std::string& name,
             const std::string& value) {
  const auto add = [&](std::vector<std::string>& arguments) {
    arguments.insert(arguments.end(), {name, value});
  };
  if (whose != Whose::server) add(yard.agent_arguments);
  if (whose != Whose::agent) add(yard.server_arguments);
}

int run(LocalOptions& options) {
  ::umask(077);                  // what is kept is this user's alone
  unsetenv("TRAINYARD_CONFIG");  // ours; the daemons would take it for theirs
  LocalYardOptions& yard = options.yard;
  yard.agent_arguments = {"--cpus", std::to_string(options.cpus)};
  for (const NumberOption& option : number_options) {
    const auto& value = options.numbers[option.name];
    if (value) pass_on(yard, option.whose, option.name, std::to_string(*value));
  }
  for (const TextOption& option : text_options) {
    for (const std::string& value : options.texts[option.name]) {
      pass_on(yard, option.whose, option.name, value);
    }
  }
  if (options.insecure) yard.server_arguments.emplace_back("--insecure");
  if (options.adopt_state) yard.server_arguments.emplace_back("--adopt-state");
  const Result<int> exit_code = run_local_yard(yard);
  return exit_code ? *exit_code : report(exit_code.error());
}

// What the yard itself needs to know.
void add_own_options(CLI::App& command, LocalOptions& options) {
  command.add_option("--state-dir", options.yard.state_dir, "Folder of all that is kept")
      ->capture_default_str();
  command
      .add_option("--http-address", options.yard.http_address, "REST and UI; port 0: a free one")
      ->capture_default_str();
  command
      .add_option("--agent-address", options.yard.agent_address, "For agents; port 0: a free one")
      ->capture_default_str();
  command.add_option("--work-dir", options.yard.agent_work_dir,
                     "Folder of the agent (default: agent/ in the state folder)");
  command
      .add_option("--cpus", options.cpus, "CPUs that tasks may ask for; they share the real ones")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command.add_flag("--insecure", options.insecure, "Allow addresses beyond this machine");
  command.add_flag("--adopt-state", options.adopt_state,
                   "Start although the database is not the one of the state folder: what it does "
                   "not know goes to lost+found/ there, for 7 days");
}

void add_options_to_pass_on(CLI::App& command, LocalOptions& options) {
  for (const NumberOption& option : number_options) {
    command.add_option(option.name, options.numbers[option.name], option.description)
        ->check(CLI::Range(option.least, option.most));
  }
  for (const TextOption& option : text_options) {
    CLI::Option* const added =
        command.add_option(option.name, options.texts[option.name], option.description);
    if (option.times == Times::once) added->expected(1);
  }
  command.get_option("--transport")->check(CLI::IsMember(all_transport_names()));
  command.get_option("--log-level")->check(CLI::IsMember({"debug", "info", "warning", "error"}));
}

}  // namespace

void add_local(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("local", "Run a server and one agent on this machine");
  const auto options = std::make_shared<LocalOptions>();
  options->yard.state_dir = default_state_dir();
  options->yard.http_address = "127.0.0.1:8080";
  options->yard.agent_address = "127.0.0.1:8081";
  add_own_options(*command, *options);
  add_options_to_pass_on(*command, *options);
  read_variables(*command);
  command->callback([options, &session] { session.exit_code = run(*options); });
}

}  // namespace trainyard::client
