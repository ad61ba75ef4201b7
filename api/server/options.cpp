// The options of the server and what they must be together.
#include "api/server/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <span>

#include "api/http/address.h"
#include "schemas/base/version.h"
#include "schemas/settings/settings.h"

namespace trainyard::api {
namespace {

void check_address(const std::string& option, const std::string& address, Exposure exposure) {
  const auto parsed = parse_address(address, exposure);
  if (!parsed) throw CLI::ValidationError(option, parsed.error().message);
}

// What the library does not check, and what the options must be together.
void check(const ServerProgramOptions& options) {
  if (options.state_dir.empty()) throw CLI::RequiredError("--state-dir");
  check_address("--http-address", options.http_address, options.exposure);
  check_address("--agent-address", options.agent_address, options.exposure);
  std::error_code error;
  const std::filesystem::path page = std::filesystem::path(options.ui_dir) / "index.html";
  if (!options.ui_dir.empty() && !std::filesystem::exists(page, error)) {
    throw CLI::ValidationError("--ui-dir", options.ui_dir + " has no index.html");
  }
  constexpr std::int64_t margin = 2;  // whoever ends them looks at the clock once a second
  if (options.lost_after_seconds < options.stop_after_seconds + margin) {
    throw CLI::ValidationError("--lost-after-seconds",
                               "must be at least " + std::to_string(margin) +
                                   " more than --stop-after-seconds (" +
                                   std::to_string(options.stop_after_seconds) +
                                   "): an agent must have ended its tasks before they start "
                                   "elsewhere");
  }
}

}  // namespace

std::variant<ServerProgramOptions, ExitNow> parse_options(int count, char** arguments) {
  CLI::App app("The Trainyard server: REST API, web page, scheduler, store and agent endpoint.",
               "trainyard-server");
  app.failure_message(usage_words);
  app.set_version_flag("--version", "trainyard-server " + std::string(version()));
  ServerProgramOptions options;
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
  app.add_flag("--adopt-state", options.adopt_state,
               "Start although the database is not the one of the state folder: what it does not "
               "know goes to lost+found/ there, for 7 days");
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
  app.add_option("--job-ttl-days", options.job_ttl_days,
                 "Days after which a job that has ended is removed with its files; 0 = never")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app.add_option("--log-bytes-max", options.log_bytes_max,
                 "Of the stored log of each task attempt; what comes beyond it is dropped")
      ->check(CLI::Range(std::int64_t{1} << 10, std::int64_t{1} << 50))
      ->capture_default_str();
  app.add_option("--agents-max", options.agents_max,
                 "How many agents may be known at once, those that are down included")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--new-agents-per-minute", options.new_agents_per_minute,
                 "How many agents that were not known may come in a minute")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--new-agents-per-minute-of-address", options.new_agents_per_minute_of_address,
                 "The same, from one address")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--log-level", log_level, "Least level that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  add_config_option(app);
  if (const Status settings = apply_settings(app, {arguments, static_cast<std::size_t>(count)});
      !settings) {
    std::cerr << "trainyard-server: " << settings.error().message << "\n";
    return ExitNow{.code = exit_usage};
  }
  try {
    app.parse(count, arguments);
    if (insecure) options.exposure = Exposure::any_interface;
    check(options);
  } catch (const CLI::Error& problem) {
    return ExitNow{.code = app.exit(problem) == 0 ? 0 : exit_usage};
  }
  options.log_level = log_level_from(log_level).value_or(LogLevel::info);
  return options;
}

}  // namespace trainyard::api
