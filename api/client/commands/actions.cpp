// trainyard cancel | suspend | resume ID: what a person may do to a job.
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "api/client/commands/command.h"
#include "api/client/job_view.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

struct Action {
  const char* name;
  const char* description;
};
constexpr std::array<Action, 3> actions{{
    {"cancel", "End a job for good"},
    {"suspend", "Stop a job at its last checkpoint, until it is resumed"},
    {"resume", "Let a suspended job go on"},
}};

Result<int> act(Rest& rest, const std::string& id, const std::string& action) {
  TRY_ASSIGN(const nlohmann::json answer, rest.post_json(job_path(id, "/" + action)));
  TRY_ASSIGN(const JobView job, parse_job(answer));
  std::printf("%s %s\n", printable(job.id).c_str(), std::string(name_of(job.state)).c_str());
  return exit_done;
}

}  // namespace

void add_actions(CLI::App& app, Session& session) {
  for (const Action& action : actions) {
    CLI::App* command = app.add_subcommand(action.name, action.description);
    const auto id = std::make_shared<std::string>();
    command->add_option("ID", *id, "The job")->required();
    command->callback([id, &action, &session] {
      run_with_server(session, [&](Rest& rest) { return act(rest, *id, action.name); });
    });
  }
}

}  // namespace trainyard::client
