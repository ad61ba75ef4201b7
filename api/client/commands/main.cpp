// The program `trainyard`: the client, over REST only, and `trainyard local`.

#include "api/client/commands/command.h"
#include "api/client/text.h"
#include "schemas/base/version.h"
#include "schemas/settings/settings.h"

namespace trainyard::client {
namespace {

void describe(CLI::App& app, Session& session) {
  app.require_subcommand(1);
  app.fallthrough();  // what is common to all commands may be written after them, too
  app.set_version_flag("--version", "trainyard " + std::string(version()),
                       "Print the version and exit");
  app.failure_message(CLI::FailureMessage::simple);
  app.add_option("--server", session.server, "Address of the server")->capture_default_str();
  add_config_option(app);
  for (const auto add :
       {add_submit, add_list, add_get, add_watch, add_logs, add_actions, add_explain, add_metrics,
        add_checkpoints, add_download, add_models, add_agents, add_local}) {
    add(app, session);
  }
  app.footer(
      "A value that is not given as a flag comes from the environment, where a variable is named\n"
      "above, else from the JSON file of --config, else it is the default shown. The file:\n"
      "  {\"server\": \"http://127.0.0.1:8080\", \"local\": {\"state_dir\": \"/srv/trainyard\"}}\n"
      "Exit codes: 0 done, or the watched job succeeded; 1 a call failed; 2 wrong usage, also a\n"
      "command that there is not; 3 the watched job ended otherwise; 130 interrupted.");
}

// Of a word that is no command the library says only that a command is missing, or prints help as
// if all were well.
int tell(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty() || !app.get_subcommands().empty()) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }
  const std::string kind = unknown.front().starts_with('-') ? "option" : "command";
  report(invalid("there is no " + kind + " \"" + printable(unknown.front()) +
                 "\": --help lists them"));
  return exit_usage;
}

int run(int argc, char** argv) {
  Session session{.server = "http://127.0.0.1:8080"};
  CLI::App app{"Trainyard: declarative training as a service.", "trainyard"};
  describe(app, session);
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (const Status settings = apply_settings(app, arguments); !settings) {
    report(settings.error());
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return tell(app, error);
  }
  return session.exit_code;
}

}  // namespace
}  // namespace trainyard::client

int main(int argc, char** argv) { return trainyard::client::run(argc, argv); }
