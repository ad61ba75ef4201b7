// trainyard-agent: the daemon of a host. Reads its options, looks at the host, and hands over to
// the daemon. Exit codes: 0 ended by SIGTERM or SIGINT, 1 it cannot run, 2 wrong usage.
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>

#include "agent/host/nvml.h"
#include "agent/host/ports.h"
#include "agent/host/probe.h"
#include "agent/loop/daemon.h"
#include "schemas/base/log.h"
#include "schemas/base/version.h"
#include "schemas/settings/settings.h"
#include "schemas/types/env_names.h"
#include "schemas/types/transport.h"
#include "schemas/wire/report_check.h"

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
  std::string listen_address;
  std::vector<std::string> labels;
  std::vector<std::string> data_roots;
  std::vector<std::string> allowed_env;
  std::string runtime;
  std::string transport{transport_names.front().second};
  std::int64_t log_bytes_max = log_bytes_max_default;
  std::int64_t data_cache_mb = 4096;
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
  // The client's TRAINYARD_SERVER is a URL.
  add("server", options.server, "HOST:PORT of the server's agent endpoint")
      ->capture_default_str()
      ->envname("TRAINYARD_AGENT_SERVER");
  add("name", options.name, "of this agent, unique in its yard")->capture_default_str();
  add("work-dir", options.work_dir, "folder for all that this agent keeps; its own (required)");
  add("cpus", options.cpus, "cpus to offer (default: those of the host)")
      ->check(CLI::Range(1, 1 << 20));
  add("memory-mb", options.memory_mb, "memory to offer, in MiB (default: that of the host)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  add("gpus", options.gpus, "GPU slots to offer (default: those that the driver shows)")
      ->check(CLI::Range(0, 1024));
  add("ports", options.ports, "FIRST-LAST: tasks listen on ports of this range")
      ->capture_default_str();
  add("address", options.address,
      "that tasks on other hosts connect to (default: this host's, on the way to the server)");
  add("listen-address", options.listen_address,
      "that tasks listen on, where it is another than --address (0.0.0.0: every interface)");
  add("label", options.labels, "KEY=VALUE, may be repeated: jobs can ask for it");
  add("data-root", options.data_roots,
      "folder that jobs may read data in, may be repeated (default: all that this user may read)");
  add("allow-env", options.allowed_env,
      "NAME or PREFIX*, may be repeated: environment variables that jobs may set too");
  add("runtime", options.runtime, "the program that a task runs (default: beside this one)");
  add("transport", options.transport, "the best way to parameter servers that tasks may try")
      ->check(CLI::IsMember(all_transport_names()))
      ->capture_default_str();
  add("log-bytes-max", options.log_bytes_max,
      "of each task's log on this host: beyond it the middle is cut out")
      ->check(CLI::Range(log_bytes_max_lowest, std::int64_t{1} << 50))
      ->capture_default_str();
  add("data-cache-mb", options.data_cache_mb,
      "disk in the work folder for decoded data sets, in MiB; 0 keeps none")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  add("log-level", options.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.failure_message(usage_words);
  app.set_version_flag("--version", "trainyard-agent " + std::string(version()));
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

Status parse_allowed_env(const std::vector<std::string>& patterns, HostInfo& host) {
  if (patterns.size() > env_patterns_max) {
    return invalid("--allow-env may be given " + std::to_string(env_patterns_max) + " times");
  }
  for (const std::string& pattern : patterns) {
    if (!is_env_pattern(pattern)) {
      return invalid("--allow-env must be NAME or PREFIX*, got \"" + pattern + "\"");
    }
    if (is_env_never_allowed(pattern)) {
      return invalid("--allow-env: " + pattern +
                     " cannot be allowed: a loader, a shell or a library would run other code, or "
                     "the agent sets it");
    }
  }
  host.allowed_env = patterns;
  return ok();
}

// Another library than the driver's is for tests.
std::string nvml_library() {
  const char* const other = std::getenv("TRAINYARD_NVML");
  return other != nullptr && *other != '\0' ? other : Nvml::default_library;
}

// A host without a driver has no GPUs, and that is all there is to say; one whose driver does not
// start is not as its operator thinks.
std::vector<GpuInfo> probe_gpus() {
  const Nvml nvml(nvml_library());
  const bool is_chosen = nvml_library() != Nvml::default_library;
  if (!nvml.problem().empty() && (is_chosen || nvml.is_there())) {
    log_warning("gpus_are_not_seen", {{"message", nvml.problem()}});
  }
  return nvml.gpus();
}

std::vector<GpuInfo> offered_gpus(std::int64_t wanted) {
  std::vector<GpuInfo> gpus = probe_gpus();
  if (wanted < 0) return gpus;
  const std::size_t found = gpus.size();
  gpus.resize(static_cast<std::size_t>(wanted));
  // A peer is one of those that are offered.
  for (GpuInfo& gpu : gpus) {
    std::erase_if(gpu.peers, [&gpus](const std::string& peer) {
      return std::ranges::count(gpus, peer, &GpuInfo::uuid) == 0;
    });
  }
  for (std::size_t index = found; index < gpus.size(); ++index) {
    gpus[index] = {.index = static_cast<int>(index), .name = std::string(declared_gpu_name)};
  }
  return gpus;
}

// An IPv6 address as it is written before ":port".
std::string before_a_port(const std::string& address) {
  const bool is_bare_v6 = address.find(':') != std::string::npos && address[0] != '[';
  return is_bare_v6 ? "[" + address + "]" : address;
}

Result<HostInfo> describe_host(const Options& options) {
  HostInfo host;
  TRY(parse_ports(options.ports, host));
  TRY(parse_labels(options.labels, host));
  TRY(parse_allowed_env(options.allowed_env, host));
  host.address = options.address;
  if (host.address.empty()) {
    TRY_ASSIGN(host.address, probe_address(options.server));
  }
  host.address = before_a_port(host.address);
  host.gpus = offered_gpus(options.gpus);
  host.capacity = {
      .cpus = options.cpus > 0 ? options.cpus : probe_cpus(),
      .memory_mb = options.memory_mb > 0 ? options.memory_mb : probe_memory_mb(),
      .gpus = static_cast<std::int64_t>(host.gpus.size()),
  };
  host.agent_version = version();
  TRY(check_host(host));  // as the server will
  return host;
}

// A task that cannot listen there would end each gang that it is of.
Status check_listening(const Options& options, const HostInfo& host) {
  const bool is_own = !options.listen_address.empty();
  const Status possible = try_to_listen(is_own ? options.listen_address : host.address, 0);
  if (possible) return ok();
  const std::string words =
      std::string(is_own ? "--listen-address: " : "--address: ") + possible.error().message +
      "; tasks listen there" +
      (is_own ? "" : " unless --listen-address names another address of this host");
  return is_own || !options.address.empty() ? invalid(words) : unavailable(words);
}

Result<std::vector<std::string>> real_data_roots(const Options& options) {
  std::vector<std::string> roots;
  for (const std::string& folder : options.data_roots) {
    std::error_code error;
    const auto real = std::filesystem::canonical(folder, error);
    if (error || !std::filesystem::is_directory(real, error)) {
      return invalid("--data-root: " + folder + " is no folder that can be read");
    }
    roots.push_back(real);
    if (roots.back().find(':') != std::string::npos) {
      return invalid("--data-root: " + folder + " has a ':' in its path");
    }
  }
  return roots;
}

Status check_server(const std::string& server) {
  if (server.find("://") != std::string::npos) {
    return invalid(
        "--server (TRAINYARD_AGENT_SERVER) must be HOST:PORT of the server's agent "
        "endpoint, such as 127.0.0.1:8081, got the URL \"" +
        server + "\": a URL is what the client takes, in TRAINYARD_SERVER");
  }
  const std::size_t colon = server.rfind(':');
  if (colon == 0 || colon == std::string::npos ||
      !parse_port(std::string_view(server).substr(colon + 1))) {
    return invalid("--server (TRAINYARD_AGENT_SERVER) must be HOST:PORT, got \"" + server + "\"");
  }
  return ok();
}

Result<DaemonOptions> check(const Options& options) {
  TRY(check_server(options.server));
  if (!is_id(options.name)) {
    return invalid("--name must be " + std::string(id_rule) + ", got \"" + options.name + "\"");
  }
  if (options.work_dir.empty()) return invalid("--work-dir is required");
  DaemonOptions daemon{.id = AgentId{options.name},
                       .server = options.server,
                       .work_dir = options.work_dir,
                       .runtime = options.runtime,
                       .shim = {},
                       .transport = options.transport,
                       .listen_host = before_a_port(options.listen_address),
                       .data_roots = {},
                       .log_bytes_max = options.log_bytes_max,
                       .data_cache_mb = options.data_cache_mb,
                       .nvml_library = nvml_library(),
                       .host = {}};
  if (daemon.runtime.empty()) daemon.runtime = beside_this_program("trainyard-runtime");
  if (::access(daemon.runtime.c_str(), X_OK) != 0) {
    return invalid("--runtime: " + daemon.runtime + " is not a program");
  }
  daemon.runtime = std::filesystem::absolute(daemon.runtime);
  daemon.shim = beside_this_program("trainyard-shim");
  if (::access(daemon.shim.c_str(), X_OK) != 0) {
    return unavailable(daemon.shim +
                       " is missing: the parent of each task, to be beside this program");
  }
  TRY_ASSIGN(daemon.host, describe_host(options));
  TRY(check_listening(options, daemon.host));
  TRY_ASSIGN(daemon.data_roots, real_data_roots(options));
  return daemon;
}

// The first SIGTERM or SIGINT stops the daemon in order. A second ends the process at once, and
// with it its tasks.
class StopOnSignal {
 public:
  StopOnSignal(Daemon& daemon, const sigset_t& signals)
      : thread_([&daemon, signals](const std::stop_token& over) {
          for (int seen = 0;;) {
            const int number = ::sigwaitinfo(&signals, nullptr);
            if (over.stop_requested()) return;
            if (number < 0) continue;  // interrupted
            if (++seen > 1) {
              daemon.end_tasks_now();
              ::_exit(128 + number);
            }
            daemon.stop();
          }
        }) {}
  ~StopOnSignal() {
    thread_.request_stop();
    ::pthread_kill(thread_.native_handle(), SIGTERM);  // to that thread alone
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  std::jthread thread_;
};

constexpr int exit_failed = 1;

int fail(const Error& error, int exit_code) {
  std::cerr << "trainyard-agent: " << error.message << "\n";
  return exit_code;
}

int run(const DaemonOptions& options) {
  ::umask(077);  // what the agent and its tasks write is their user's alone
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // in all threads to come

  Daemon daemon(options);
  const StopOnSignal stop_on_signal(daemon, signals);  // ends before the daemon
  const Status status = daemon.run();
  return status ? 0 : fail(status.error(), exit_failed);
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
    return fail(status.error(), exit_usage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& problem) {
    return app.exit(problem) == 0 ? 0 : exit_usage;
  }
  set_log_level(log_level_from(options.log_level).value_or(LogLevel::info));
  const Result<DaemonOptions> checked = check(options);
  if (checked) return agent::run(*checked);
  return fail(checked.error(), checked.error().code == Code::invalid ? exit_usage : exit_failed);
}
