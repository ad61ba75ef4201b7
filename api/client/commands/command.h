// The commands of the program `trainyard`: each file adds one subcommand to the command line.
//
// Exit codes: 0 done (with --watch: the job succeeded), 1 the call failed (of several at least
// one), 2 wrong usage, 3 the watched job ended otherwise than succeeded, 130 interrupted.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "api/client/rest.h"
#include "schemas/settings/settings.h"

namespace trainyard::client {

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
using trainyard::exit_usage;
constexpr int exit_job_ended_otherwise = 3;
constexpr int exit_interrupted = 130;

// What is common to all commands of one run of the program.
struct Session {
  std::string server;
  int exit_code = exit_done;
};

// Prints the error on stderr and returns the exit code.
int report(const Error& error);

// Runs `call(rest)`, which returns a Result of an exit code, and keeps the code in the session.
template <class Call>
void run_with_server(Session& session, Call call) {
  Result<Rest> rest = Rest::connect(session.server);
  if (!rest) {
    report(rest.error());
    session.exit_code = rest.error().code == Code::invalid ? exit_usage : exit_failed;
    return;
  }
  const Result<int> exit_code = call(*rest);
  session.exit_code = exit_code ? *exit_code : report(exit_code.error());
}

// Does `call` for each id, and goes on after one that is refused; only a server that does not
// answer ends it. Says each refusal, and returns the exit code.
int for_each(const std::vector<std::string>& ids,
             const std::function<Status(const std::string& id)>& call);

// --label KEY=VALUE, which may be repeated and takes one value each time.
CLI::Option* add_label_option(CLI::App& command, std::vector<std::string>& labels,
                              const std::string& description);

std::string job_path(const std::string& job_id, const std::string& rest_of_path = "");

// Watches the job, prints how it ended, returns the exit code.
Result<int> watch_and_tell(Rest& rest, const std::string& job_id);

void add_submit(CLI::App& app, Session& session);
void add_list(CLI::App& app, Session& session);
void add_get(CLI::App& app, Session& session);
void add_watch(CLI::App& app, Session& session);
void add_logs(CLI::App& app, Session& session);
void add_actions(CLI::App& app, Session& session);  // cancel, suspend, resume, delete
void add_explain(CLI::App& app, Session& session);
void add_checkpoints(CLI::App& app, Session& session);
void add_download(CLI::App& app, Session& session);
void add_metrics(CLI::App& app, Session& session);
void add_models(CLI::App& app, Session& session);  // and model show
void add_agents(CLI::App& app, Session& session);  // and cordon, uncordon
void add_local(CLI::App& app, Session& session);

}  // namespace trainyard::client
