// trainyard agents: the hosts, what they have and what occupies them.
#include <cstdio>
#include <memory>

#include "api/client/commands/command.h"
#include "api/client/json_read.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

std::string used_cell(const nlohmann::json& agent, const char* resource) {
  const auto used = integer_of(member_of(agent, "used"), resource).value_or(0);
  const auto capacity = integer_of(member_of(agent, "capacity"), resource).value_or(0);
  return grouped(used) + "/" + grouped(capacity);
}

Result<int> print_agents(Rest& rest, const bool& as_json) {
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json("/v1/agents"));
  const nlohmann::json& items = list_of(answer, "items");
  if (as_json) {
    std::printf("%s\n", items.dump(2).c_str());
    return exit_done;
  }
  Table table({{"AGENT"},
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
  std::fputs(table.text().c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_agents(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("agents", "List the hosts and what occupies them");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "As the server says it");
  command->callback([as_json, &session] {
    run_with_server(session, [&](Rest& rest) { return print_agents(rest, *as_json); });
  });
}

}  // namespace trainyard::client
