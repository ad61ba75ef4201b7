// Flags by CLI11; what they leave open is filled from the environment, then from the file.
#include "api/server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/routes/documents.h"

namespace trainyard::api {
namespace {

// "state-dir" -> "TRAINYARD_STATE_DIR"
std::string variable_of(const std::string& option) {
  std::string variable = "TRAINYARD_" + option;
  std::ranges::transform(variable, variable.begin(), [](unsigned char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  });
  return variable;
}

// The file's values by option name: {"state_dir": "/srv/trainyard"} sets --state-dir.
std::map<std::string, std::string> read_file(const CLI::App& app, const std::string& path) {
  std::ifstream file(path);
  const auto document = nlohmann::json::parse(file, nullptr, false);
  if (!document.is_object()) throw CLI::FileError("--config: " + path + " is not a JSON object");
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : document.items()) {
    std::string name = key;
    std::ranges::replace(name, '_', '-');
    if (name == "config" || app.get_option_no_throw("--" + name) == nullptr) {
      throw CLI::ConfigError("--config: \"" + key + "\" in " + path + " is not an option");
    }
    values[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return values;
}

void fill_in(CLI::Option& option, const std::string& value) {
  option.add_result(value);
  option.run_callback();
}

void fill_from_environment_and_file(CLI::App& app, const std::string& config) {
  const auto fill_from_environment = [](CLI::Option* option) {
    const char* value = std::getenv(variable_of(option->get_lnames().front()).c_str());
    if (option->count() == 0 && value != nullptr && *value != '\0') fill_in(*option, value);
  };
  const auto options = app.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() && option->get_lnames().front() != "help" &&
           option->get_lnames().front() != "version";
  });
  std::ranges::for_each(options, fill_from_environment);
  if (config.empty()) return;
  const auto values = read_file(app, config);
  for (CLI::Option* option : options) {
    const auto value = values.find(option->get_lnames().front());
    if (option->count() == 0 && value != values.end()) fill_in(*option, value->second);
  }
}

const std::map<std::string, LogLevel> log_levels{{"debug", LogLevel::debug},
                                                 {"info", LogLevel::info},
                                                 {"warning", LogLevel::warning},
                                                 {"error", LogLevel::error}};

// What the options must be together.
void check(const ServerProgramOptions& options) {
  if (options.state_dir.empty()) throw CLI::RequiredError("--state-dir");
  if (options.lost_after_seconds <= options.stop_after_seconds) {
    throw CLI::ValidationError("--lost-after-seconds",
                               "must be more than --stop-after-seconds (" +
                                   std::to_string(options.stop_after_seconds) +
                                   "): an agent must have ended its tasks before they start "
                                   "elsewhere");
  }
}

}  // namespace

std::variant<ServerProgramOptions, ExitNow> parse_options(int count, char** arguments) {
  CLI::App app("The Trainyard server: REST API, web page, scheduler, store and agent endpoint.");
  app.footer("Each option can also come from TRAINYARD_<OPTION> or from the --config file.");
  app.set_version_flag("--version", std::string(version()));
  ServerProgramOptions options;
  std::string config;
  std::string log_level = "info";
  bool insecure = false;
  app.add_option("--state-dir", options.state_dir,
                 "Folder of the database, artifacts and logs; made where there is none (required)");
  app.add_option("--http-address", options.http_address, "REST and web page; port 0 = a free one")
      ->capture_default_str();
  app.add_option("--agent-address", options.agent_address, "For agents; port 0 = a free one")
      ->capture_default_str();
  app.add_flag("--insecure", insecure,
               "Listen beyond loopback although there is no authentication yet");
  app.add_option("--ui-dir", options.ui_dir,
                 "Folder of the web page (default: the one built with)");
  app.add_option("--stop-after-seconds", options.stop_after_seconds,
                 "How long agents go on without an answer")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--lost-after-seconds", options.lost_after_seconds,
                 "After how long a silent agent's tasks run elsewhere")
      ->check(CLI::Range(1, 172'800))
      ->capture_default_str();
  app.add_option("--log-level", log_level, "Least level that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--config", config, "JSON file with any of these: {\"state_dir\": …}");
  try {
    app.parse(count, arguments);
    fill_from_environment_and_file(app, config);
    check(options);
  } catch (const CLI::Error& problem) {
    return ExitNow{.code = app.exit(problem)};
  }
  options.log_level = log_levels.at(log_level);
  if (insecure) options.exposure = Exposure::any_interface;
  return options;
}

}  // namespace trainyard::api
