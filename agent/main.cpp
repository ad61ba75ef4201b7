// trainyard-agent: the daemon of a host. Reads its options, looks at the host, and hands over to
// the daemon.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include "agent/host/probe.h"
#include "agent/loop/daemon.h"
#include "schemas/base/log.h"
#include "schemas/base/version.h"
#include "schemas/settings/settings.h"
#include "schemas/types/transport.h"

namespace trainyard::agent {
namespace {

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
  std::string transport{transport_names.front().second};
  std::string log_level = "info";
};

std::string beside_this_program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (error ? std::filesystem::path(".") : self.parent_path()) / name;
}

void declare(CLI::App& app, Options& options) {
  const auto add = [&](const std::string& name, auto& value, const std::string& text) {
    return app.add_option("--" + name, value, text);
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
  add("transport", options.transport, "the best way to parameter servers that tasks may try")
      ->check(CLI::IsMember(all_transport_names()))
      ->capture_default_str();
  add("log-level", options.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_version_flag("--version", std::string(version()));
  add_config_option(app);
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
  host.agent_version = version();
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
                       .transport = options.transport,
                       .host = {}};
  if (daemon.runtime.empty()) daemon.runtime = beside_this_program("trainyard-runtime");
  if (::access(daemon.runtime.c_str(), X_OK) != 0) {
    return invalid("--runtime: " + daemon.runtime + " is not a program");
  }
  daemon.runtime = std::filesystem::absolute(daemon.runtime);
  TRY_ASSIGN(daemon.host, describe_host(options));
  return daemon;
}

// The first SIGTERM or SIGINT stops the daemon in order. A second ends the process, and with it, by
// the kernel, its tasks.
std::jthread stop_on_signal(Daemon& daemon, const sigset_t& signals) {
  return std::jthread([&daemon, signals](const std::stop_token& over) {
    constexpr timespec look_up{.tv_sec = 0, .tv_nsec = 100'000'000};
    for (int seen = 0; !over.stop_requested();) {
      const int number = ::sigtimedwait(&signals, nullptr, &look_up);
      if (number < 0) continue;
      if (++seen > 1) ::_exit(128 + number);
      daemon.stop();
    }
  });
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

  Daemon daemon(options);
  const std::jthread signal_thread = stop_on_signal(daemon, signals);  // ends before the daemon
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
  if (const Status status = apply_settings(app, {argv, static_cast<std::size_t>(argc)}); !status) {
    return fail(status.error());
  }
  CLI11_PARSE(app, argc, argv);
  set_log_level(log_level_from(options.log_level).value_or(LogLevel::info));
  const Result<DaemonOptions> checked = check(options);
  return checked ? agent::run(*checked) : fail(checked.error());
}
