// trainyard-server: the scheduler, the REST API and the web page wired together in one process.
// Exit codes: 0 ended by SIGTERM or SIGINT, 1 it cannot run, 2 wrong usage.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "api/http/server.h"
#include "api/http/static_files.h"
#include "api/routes/service.h"
#include "api/server/options.h"
#include "scheduler/loop/scheduler.h"
#include "schemas/base/log.h"
#include "schemas/base/version.h"

#ifndef TRAINYARD_UI_DIR
#error "TRAINYARD_UI_DIR names the folder that the build puts the web UI into"
#endif

namespace trainyard::api {
namespace {

// Beside the folder that this program is in, else where it was built.
std::string find_ui_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = program.parent_path() / "../ui";
  if (!error && std::filesystem::exists(beside / "index.html", error)) return beside.string();
  return TRAINYARD_UI_DIR;
}

Result<std::vector<Route>> all_routes(Service& service, const ServerProgramOptions& options) {
  std::vector<Route> routes = service.routes();
  auto pages = routes_for_folder(options.ui_dir.empty() ? find_ui_folder() : options.ui_dir);
  if (!pages && !options.ui_dir.empty()) return pages.error();
  if (!pages) {
    log_warning("no_web_page", {{"message", pages.error().message}});
    return routes;
  }
  std::move(pages->begin(), pages->end(), std::back_inserter(routes));
  return routes;
}

scheduler::SchedulerOptions scheduler_options(const ServerProgramOptions& options) {
  scheduler::SchedulerOptions made;
  made.state_dir = options.state_dir;
  made.agent_address = options.agent_address;
  made.adopt_state = options.adopt_state;
  made.limits.stop_after = seconds(options.stop_after_seconds);
  made.limits.lost_after = seconds(options.lost_after_seconds);
  made.log_bytes_max = options.log_bytes_max;
  if (options.job_ttl_days > 0) made.job_ttl = seconds(options.job_ttl_days * 24 * 3600);
  made.limits.agents_max = options.agents_max;
  made.registrations = {.per_minute = options.new_agents_per_minute,
                        .per_minute_of_address = options.new_agents_per_minute_of_address};
  return made;
}

// Returns when SIGTERM or SIGINT has come and everything is closed.
Status run(const ServerProgramOptions& options, const sigset_t& stop_signals) {
  ServerOptions http;
  http.address = options.http_address;
  http.exposure = options.exposure;
  LogHold first_lines;  // the addresses come before what the scheduler finds to do
  TRY_ASSIGN(const auto scheduler, scheduler::Scheduler::start(scheduler_options(options)));
  Service service(*scheduler);
  TRY_ASSIGN(auto routes, all_routes(service, options));
  TRY_ASSIGN(const auto server, Server::start(http, std::move(routes)));
  first_lines.end_with_first("listening", {{"http_address", server->address()},
                                           {"agent_address", scheduler->agent_address()},
                                           {"state_dir", options.state_dir},
                                           {"version", version()}});
  int signal = 0;
  sigwait(&stop_signals, &signal);
  log_info("stopping", {{"signal", signal}});
  service.stop();
  server->stop();
  scheduler->stop();
  log_info("stopped");
  return ok();
}

int main_of(int count, char** arguments) {
  const auto parsed = parse_options(count, arguments);
  if (const auto* exit = std::get_if<ExitNow>(&parsed)) return exit->code;
  const auto& options = std::get<ServerProgramOptions>(parsed);
  set_log_level(options.log_level);
  ::umask(077);  // what the server keeps is its user's alone
  // gRPC's own lines are no lines of this log; what went wrong is said here. Whoever sets it sees
  // them.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  // Blocked before any thread starts, so that only sigwait() takes them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  const Status ended = run(options, stop_signals);
  if (ended) return 0;
  log_error("cannot_run", {{"message", ended.error().message}});
  return 1;
}

}  // namespace
}  // namespace trainyard::api

int main(int count, char** arguments) { return trainyard::api::main_of(count, arguments); }
