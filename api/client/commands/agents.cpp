// trainyard agents, cordon, uncordon: the hosts, what they have and what occupies them.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/json_read.h"
#include "api/client/terminal.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

std::string used_cell(const nlohmann::json& agent, const char* resource) {
  const auto used = integer_of(member_of(agent, "used"), resource).value_or(0);
  const auto capacity = integer_of(member_of(agent, "capacity"), resource).value_or(0);
  return grouped(used) + "/" + grouped(capacity);
}

Result<int> print_agents(Rest& rest, const bool& as_json) {
  TRY_ASSIGN(const nlohmann::json items, fetch_items(rest, "/v1/agents"));
  if (as_json) {
    std::printf("%s\n", items.dump(2).c_str());
    return exit_done;
  }
  Table table({{.title = "AGENT", .columns_min = 8},
               {"STATE"},
               {"ADDRESS"},
               {"CPUS", Align::right},
               {"MEMORY MB", Align::right},
               {"GPUS", Align::right},
               {"TASKS", Align::right}});
  for (const nlohmann::json& agent : items) {
    table.add({printable(text_of(agent, "id")), text_of(agent, "state"),
               printable(text_of(agent, "address")), used_cell(agent, "cpus"),
               used_cell(agent, "memory_mb"), used_cell(agent, "gpus"),
               std::to_string(list_of(agent, "tasks").size())});
  }
  std::fputs(table.text(output_columns()).c_str(), stdout);
  return exit_done;
}

std::string agent_path(const std::string& id, const std::string& rest_of_path = "") {
  return "/v1/agents/" + percent_encode(id) + rest_of_path;
}

Status cordon(Rest& rest, const std::string& id, const std::string& action) {
  TRY(rest.post_json(agent_path(id, "/" + action)));
  std::printf("%s %sed\n", printable(id).c_str(), action.c_str());
  return ok();
}

Status remove(Rest& rest, const std::string& id) {
  TRY_ASSIGN(const Answer answer, rest.send({.method = "DELETE", .path = agent_path(id)}));
  TRY(json_of(answer));
  std::printf("%s deleted\n", printable(id).c_str());
  return ok();
}

using Act = Status (*)(Rest& rest, const std::string& id);

void add_act(CLI::App* command, Session& session, Act act) {
  const auto ids = std::make_shared<std::vector<std::string>>();
  command->add_option("AGENT", *ids, "The agents")->required();
  command->callback([ids, act, &session] {
    run_with_server(session, [&](Rest& rest) -> Result<int> {
      return for_each(*ids, [&](const std::string& id) { return act(rest, id); });
    });
  });
}

}  // namespace

void add_agents(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("agents", "List the hosts and what occupies them");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "As the server says it");
  CLI::App* deletion = command->add_subcommand("delete", "Forget agents that are down");
  add_act(deletion, session, remove);
  command->callback([as_json, deletion, &session] {
    if (deletion->parsed()) return;
    run_with_server(session, [&](Rest& rest) { return print_agents(rest, *as_json); });
  });
  add_act(app.add_subcommand("cordon", "Give agents no more tasks; those that run go on"), session,
          [](Rest& rest, const std::string& id) { return cordon(rest, id, "cordon"); });
  add_act(app.add_subcommand("uncordon", "Give cordoned agents tasks again"), session,
          [](Rest& rest, const std::string& id) { return cordon(rest, id, "uncordon"); });
}

}  // namespace trainyard::client
