// The program `trainyard`: the client, over REST only, and `trainyard local`.
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/text.h"
#include "schemas/base/near_name.h"
#include "schemas/base/version.h"
#include "schemas/settings/settings.h"

namespace trainyard::client {
namespace {

std::vector<CLI::App*> commands_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// What other programs call our commands.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_names{{
    {"ls", "list"},
    {"ps", "list"},
    {"jobs", "list"},
    {"status", "get"},
    {"show", "get"},
    {"describe", "get"},
    {"kill", "cancel"},
    {"stop", "cancel"},
    {"rm", "delete"},
    {"remove", "delete"},
    {"nodes", "agents"},
    {"hosts", "agents"},
}};

Error no_such_command(CLI::App& app, const std::string& word) {
  std::string words = "there is no command \"" + printable(word) + "\"";
  std::vector<std::string_view> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  std::string meant = did_you_mean(word, names);
  for (const auto& [other, name] : other_names) {
    if (word == other) meant = "; did you mean \"" + std::string(name) + "\"?";
  }
  return invalid(words + (meant.empty() ? ": --help lists them" : meant));
}

void add_help(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("help", "Print this, or the help of a command");
  const auto name = std::make_shared<std::string>();
  command->add_option("COMMAND", *name, "The command");
  command->callback([name, &app, &session] {
    const auto asked =
        app.get_subcommands([&](const CLI::App* each) { return each->get_name() == *name; });
    if (asked.empty() && !name->empty()) {
      session.exit_code = exit_usage;
      report(no_such_command(app, *name));
      return;
    }
    // By the formatter: App::help() would speak of the command that is called, which is this one.
    const CLI::App* const about = name->empty() ? &app : asked.front();
    const std::string called = app.get_name() + (name->empty() ? "" : " " + *name);
    const std::string text =
        app.get_formatter()->make_help(about, called, CLI::AppFormatMode::Normal);
    std::fputs(text.c_str(), stdout);
  });
}

// What the library lists of the program alone.
void name_common_options(CLI::App& app) {
  for (CLI::App* command : commands_of(app)) {
    const bool asks_a_server = command->get_name() != "local" && command->get_name() != "help";
    command->footer(asks_a_server ? "Every command has --server URL and --config FILE too: see "
                                    "`trainyard --help`."
                                  : "Every command has --config FILE too: see `trainyard --help`.");
    name_common_options(*command);
  }
}

void describe(CLI::App& app, Session& session) {
  app.require_subcommand(1);
  app.fallthrough();  // what is common to all commands may be written after them, too
  app.set_version_flag("--version", "trainyard " + std::string(version()),
                       "Print the version and exit");
  app.failure_message(usage_words);
  app.add_option("--server", session.server, "Address of the server")->capture_default_str();
  add_config_option(app);
  for (const auto add :
       {add_submit, add_list, add_get, add_watch, add_logs, add_actions, add_explain, add_metrics,
        add_checkpoints, add_download, add_models, add_agents, add_local, add_help}) {
    add(app, session);
  }
  name_common_options(app);
  app.footer(
      "A value that is not given as a flag comes from the environment, where a variable is named\n"
      "above, else from the JSON file of --config, else it is the default shown. The file:\n"
      "  {\"server\": \"http://127.0.0.1:8080\", \"local\": {\"state_dir\": \"/srv/trainyard\"}}\n"
      "Exit codes: 0 done, or the watched job succeeded; 1 a call failed; 2 wrong usage, also a\n"
      "command that there is not; 3 the watched job ended otherwise; 130 interrupted.");
}

// Of a word that is no command the library says only that a command is missing, or prints help as
// if all were well.
int tell(CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty() || !app.get_subcommands().empty()) {
    return app.exit(error) == 0 ? exit_done : exit_usage;
  }
  const std::string& word = unknown.front();
  report(word.starts_with('-')
             ? invalid("there is no option \"" + printable(word) + "\": --help lists them")
             : no_such_command(app, word));
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
