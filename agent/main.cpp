// trainyard-agent: the daemon of a host. Reads its options (flag, then environment, then JSON
// file), looks at the host, and hands over to the daemon.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "agent/host/files.h"
#include "agent/host/probe.h"
#include "agent/loop/daemon.h"
#include "schemas/base/log.h"

namespace trainyard::agent {
namespace {

constexpr const char* version = "0.1.0";

struct Options {
  std::string server = "127.0.0.1:8081";
  std::string name = probe_host_name();
  std::string work_dir;
  std::int64_t cpus = -1;  // -1: as the host has
  std::int64_t memory_mb = -1;
  std::int64_t gpus = -1;
  std::string ports = "20000-20999";
  std::string address;
  std::vector<std::string> labels;
  std::string runtime;
  std::string log_level = "info";
  std::string config;
};

std::string beside_this_program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (error ? std::filesystem::path(".") : self.parent_path()) / name;
}

void declare(CLI::App& app, Options& options) {
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    std::string variable = "TRAINYARD_AGENT_" + name;
    for (char& letter : variable) {
      letter = letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
    }
    return app.add_option("--" + name, value, text)->envname(variable);
  };
  add("server", options.server, "HOST:PORT of the server's agent endpoint")->capture_default_str();
  add("name", options.name, "of this agent, unique in its yard")->capture_default_str();
  add("work-dir", options.work_dir, "folder for all that this agent keeps; its own");
  add("cpus", options.cpus, "cpus to offer (default: those of the host)")
      ->check(CLI::Range(1, 1 << 20));
  add("memory-mb", options.memory_mb, "memory to offer, in MiB (default: that of the host)")
      ->check(CLI::PositiveNumber);
  add("gpus", options.gpus, "GPU slots to offer (default: those that the driver shows)")
      ->check(CLI::Range(0, 1024));
  add("ports", options.ports, "FIRST-LAST: tasks listen on ports of this range")
      ->capture_default_str();
  add("address", options.address,
      "that tasks on other hosts connect to (default: this host's, on the way to the server)");
  add("label", options.labels, "KEY=VALUE, may be repeated: jobs can ask for it");
  add("runtime", options.runtime, "the program that a task runs (default: beside this one)");
  add("log-level", options.log_level, "debug, info, warning or error")->capture_default_str();
  add("config", options.config, "JSON file with any of these, named as the flags are");
  app.set_version_flag("--version", version);
}

// The text of --config or TRAINYARD_AGENT_CONFIG; the file itself has to be read before the flags
// are.
std::string config_path(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--config" && i + 1 < argc) return argv[i + 1];
    if (argument.starts_with("--config=")) return argument.substr(9);
  }
  const char* variable = std::getenv("TRAINYARD_AGENT_CONFIG");
  return variable == nullptr ? "" : variable;
}

// A value of the file becomes the option's default, so that the environment and the flags win.
Status apply_config(CLI::App& app, Options& options, const std::string& path) {
  if (path.empty()) return ok();
  TRY_ASSIGN(const std::string text, read_file(path));
  const auto config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) return invalid(path + " is not a JSON object");
  for (const auto& [key, value] : config.items()) {
    if (key == "label" && value.is_object()) {
      for (const auto& [name, label] : value.items()) {
        if (!label.is_string()) return invalid(path + ": label " + name + " must be a string");
        options.labels.push_back(name + "=" + label.get<std::string>());
      }
      continue;
    }
    CLI::Option* option = app.get_option_no_throw("--" + key);
    if (option == nullptr || key == "config" || !(value.is_string() || value.is_number_integer())) {
      return invalid(path + ": \"" + key + "\" is no option, or has a value of the wrong type");
    }
    try {
      option->default_val(value.is_string() ? value.get<std::string>() : value.dump());
    } catch (const CLI::Error& error) {
      return invalid(path + ": \"" + key + "\": " + error.what());
    }
  }
  return ok();
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (port < 1 || port > 65535) return std::nullopt;
  return port;
}

Status parse_ports(const std::string& text, HostInfo& host) {
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string::npos ? std::nullopt : parse_port(text.substr(dash + 1));
  if (!first || !last || *first > *last) {
    return invalid("--ports must be FIRST-LAST within 1-65535, got \"" + text + "\"");
  }
  host.first_port = *first;
  host.last_port = *last;
  return ok();
}

Status parse_labels(const std::vector<std::string>& texts, HostInfo& host) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return invalid("--label must be KEY=VALUE, got \"" + text + "\"");
    }
    host.labels[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return ok();
}

std::vector<GpuInfo> offered_gpus(std::int64_t wanted) {
  std::vector<GpuInfo> gpus = probe_gpus();
  if (wanted < 0) return gpus;
  const std::size_t found = gpus.size();
  gpus.resize(static_cast<std::size_t>(wanted));
  for (std::size_t index = found; index < gpus.size(); ++index) {
    gpus[index] = {.index = static_cast<int>(index), .name = "declared", .memory_mb = 0};
  }
  return gpus;
}

Result<HostInfo> describe_host(const Options& options) {
  HostInfo host;
  TRY(parse_ports(options.ports, host));
  TRY(parse_labels(options.labels, host));
  host.address = options.address;
  if (host.address.empty()) {
    TRY_ASSIGN(host.address, probe_address(options.server));
  }
  host.gpus = offered_gpus(options.gpus);
  host.capacity = {
      .cpus = options.cpus > 0 ? options.cpus : probe_cpus(),
      .memory_mb = options.memory_mb > 0 ? options.memory_mb : probe_memory_mb(),
      .gpus = static_cast<std::int64_t>(host.gpus.size()),
  };
  host.agent_version = version;
  return host;
}

Status check_server(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  if (colon == 0 || colon == std::string::npos ||
      !parse_port(std::string_view(server).substr(colon + 1))) {
    return invalid("--server must be HOST:PORT, got \"" + server + "\"");
  }
  return ok();
}

Result<DaemonOptions> check(const Options& options) {
  TRY(check_server(options.server));
  if (!is_id(options.name)) {
    return invalid("--name must be " + std::string(id_rule) + ", got \"" + options.name + "\"");
  }
  if (options.work_dir.empty()) return invalid("--work-dir is needed");
  DaemonOptions daemon{.id = AgentId{options.name},
                       .server = options.server,
                       .work_dir = options.work_dir,
                       .runtime = options.runtime,
                       .host = {}};
  if (daemon.runtime.empty()) daemon.runtime = beside_this_program("trainyard-runtime");
  if (::access(daemon.runtime.c_str(), X_OK) != 0) {
    return invalid("--runtime: " + daemon.runtime + " is not a program");
  }
  daemon.runtime = std::filesystem::absolute(daemon.runtime);
  TRY_ASSIGN(daemon.host, describe_host(options));
  return daemon;
}

Result<LogLevel> parse_log_level(const std::string& name) {
  static const std::map<std::string, LogLevel> levels = {{"debug", LogLevel::debug},
                                                         {"info", LogLevel::info},
                                                         {"warning", LogLevel::warning},
                                                         {"error", LogLevel::error}};
  const auto found = levels.find(name);
  if (found == levels.end()) return invalid("--log-level: \"" + name + "\" is no level");
  return found->second;
}

// The first SIGTERM or SIGINT stops the daemon in order. A second ends the process, and with it, by
// the kernel, its tasks.
void stop_on_signal(Daemon& daemon, const sigset_t& signals) {
  std::thread([&daemon, signals] {
    int number = 0;
    sigwait(&signals, &number);
    daemon.stop();
    sigwait(&signals, &number);
    ::_exit(128 + number);
  }).detach();
}

int fail(const Error& error) {
  std::cerr << "trainyard-agent: " << error.message << "\n";
  return 1;
}

int run(const DaemonOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // in all threads to come

  static Daemon daemon(options);  // static: the signal thread outlives this function
  stop_on_signal(daemon, signals);
  const Status status = daemon.run();
  return status ? 0 : fail(status.error());
}

}  // namespace
}  // namespace trainyard::agent

int main(int argc, char** argv) {
  using namespace trainyard;
  using namespace trainyard::agent;

  Options options;
  CLI::App app("The agent of a host: connects to a Trainyard server and runs its tasks.",
               "trainyard-agent");
  declare(app, options);
  if (const Status status = apply_config(app, options, config_path(argc, argv)); !status) {
    return fail(status.error());
  }
  CLI11_PARSE(app, argc, argv);
  const Result<LogLevel> level = parse_log_level(options.log_level);
  if (!level) return fail(level.error());
  set_log_level(*level);
  const Result<DaemonOptions> checked = check(options);
  return checked ? agent::run(*checked) : fail(checked.error());
}
