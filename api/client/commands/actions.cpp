// trainyard cancel | suspend | resume | delete: what a person may do to jobs, by their ids or by a
// label.
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/job_view.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

struct Action {
  const char* name;
  const char* description;
  bool (*concerns)(JobState);  // of the jobs with a label, those in such a state
};
constexpr std::array<Action, 4> actions{{
    {"cancel", "End jobs for good", [](JobState state) { return !is_terminal(state); }},
    {"suspend", "Stop jobs at their last checkpoint, until they are resumed",
     [](JobState state) { return !is_terminal(state) && state != JobState::suspended; }},
    {"resume", "Let suspended jobs go on",
     [](JobState state) { return state == JobState::suspended; }},
    {"delete", "Remove jobs that have ended, with their logs and checkpoints", is_terminal},
}};

struct Chosen {
  std::vector<std::string> ids;
  std::vector<std::string> labels;
};

Status act(Rest& rest, const std::string& id, const std::string& action) {
  if (action == "delete") {
    TRY_ASSIGN(const Answer answer, rest.send({.method = "DELETE", .path = job_path(id)}));
    TRY(json_of(answer));
    std::printf("%s deleted\n", printable(id).c_str());
    return ok();
  }
  TRY_ASSIGN(const nlohmann::json answer, rest.post_json(job_path(id, "/" + action)));
  TRY_ASSIGN(const JobView job, parse_job(answer));
  std::printf("%s %s\n", printable(job.id).c_str(), std::string(name_of(job.state)).c_str());
  return ok();
}

Result<std::vector<std::string>> ids_of(Rest& rest, const Chosen& chosen, const Action& action) {
  if (chosen.labels.empty()) return chosen.ids;
  TRY_ASSIGN(const nlohmann::json jobs, fetch_jobs(rest, {.labels = chosen.labels}));
  std::vector<std::string> ids;
  for (const nlohmann::json& item : jobs) {
    TRY_ASSIGN(const JobView job, parse_job(item));
    if (action.concerns(job.state)) ids.push_back(job.id);
  }
  if (ids.empty()) std::fprintf(stderr, "There is no job with this label to %s\n", action.name);
  return ids;
}

Result<int> act_on_all(Rest& rest, const Chosen& chosen, const Action& action) {
  TRY_ASSIGN(const std::vector<std::string> ids, ids_of(rest, chosen, action));
  return for_each(ids, [&](const std::string& id) { return act(rest, id, action.name); });
}

}  // namespace

void add_actions(CLI::App& app, Session& session) {
  for (const Action& action : actions) {
    CLI::App* command = app.add_subcommand(action.name, action.description);
    const auto chosen = std::make_shared<Chosen>();
    CLI::Option* ids = command->add_option("ID", chosen->ids, "The jobs");
    add_label_option(*command, chosen->labels, "All jobs with this label, in place of ids")
        ->excludes(ids);
    command->callback([chosen, &action, &session] {
      if (chosen->ids.empty() && chosen->labels.empty()) throw CLI::RequiredError("ID or --label");
      run_with_server(session, [&](Rest& rest) { return act_on_all(rest, *chosen, action); });
    });
  }
}

}  // namespace trainyard::client
