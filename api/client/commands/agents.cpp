// trainyard agents, cordon, uncordon, drain: the hosts, what they have and what occupies them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/json_read.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/types/precision_names.h"
#include "schemas/types/product_rates.h"

namespace trainyard::client {
namespace {

std::string used_cell(const nlohmann::json& agent, const char* resource) {
  const auto used = integer_of(member_of(agent, "used"), resource).value_or(0);
  const auto capacity = integer_of(member_of(agent, "capacity"), resource).value_or(0);
  return grouped(used) + "/" + grouped(capacity);
}

// "worker/0 of 0k3v9x2m7q", "process 4711 (not ours)", or "-".
std::string holder_cell(const nlohmann::json& agent, const nlohmann::json& gpu) {
  const auto slot = integer_of(gpu, "index");
  std::string holder;
  for (const nlohmann::json& task : list_of(agent, "tasks")) {
    for (const nlohmann::json& one : list_of(task, "gpus")) {
      if (!one.is_number_integer() || one.get<std::int64_t>() != slot) continue;
      holder = printable(text_of(task, "task")) + " of " + printable(text_of(task, "job"));
    }
  }
  for (const nlohmann::json& process : list_of(gpu, "strangers")) {
    holder += (holder.empty() ? "process " : ", process ") +
              std::to_string(integer_of(process, "pid").value_or(0)) + " (not ours)";
  }
  return holder.empty() ? "-" : holder;
}

std::string memory_cell(const nlohmann::json& gpu) {
  const auto used = integer_of(gpu, "memory_used_mb");
  const auto memory = integer_of(gpu, "memory_mb").value_or(0);
  return (used ? grouped(*used) : "?") + "/" + grouped(memory);
}

// "12 TFLOP/s in float32, 34 in tf32", "" where the agent has not measured it.
std::string products_of(const nlohmann::json& gpu) {
  const nlohmann::json& said = member_of(gpu, "product_tflops");
  ProductRates rates;
  for (const auto& [precision, name] : precision_names) {
    if (const auto tflops = number_of(said, std::string(name).c_str())) rates[precision] = *tflops;
  }
  return product_rate_words(rates);
}

// Once for each kind of GPU of an agent.
void print_products(const nlohmann::json& agents) {
  for (const nlohmann::json& agent : agents) {
    std::set<std::string> said;
    for (const nlohmann::json& gpu : list_of(agent, "gpus")) {
      const std::string products = products_of(gpu);
      const std::string kind = printable(text_of(gpu, "name"));
      if (products.empty() || !said.insert(kind).second) continue;
      std::printf("%s: products on %s make %s\n", printable(text_of(agent, "id")).c_str(),
                  kind.c_str(), products.c_str());
    }
  }
}

std::string with_unit(const std::optional<double>& number, double factor, const char* unit) {
  if (!number) return "-";
  return std::to_string(std::lround(*number * factor)) + unit;
}

// Nothing where no driver tells of any: of such slots there is no more to say than their number.
void print_gpus(const nlohmann::json& agents) {
  Table table({{.title = "AGENT", .columns_min = 8},
               {"SLOT", Align::right},
               {.title = "GPU", .columns_min = 8},
               {"MEMORY MB", Align::right},
               {"USE", Align::right},
               {"TEMPERATURE", Align::right},
               {"POWER", Align::right},
               {.title = "USED BY", .columns_min = 12}});
  bool has_rows = false;
  for (const nlohmann::json& agent : agents) {
    for (const nlohmann::json& gpu : list_of(agent, "gpus")) {
      if (text_of(gpu, "uuid").empty()) continue;
      has_rows = true;
      table.add({printable(text_of(agent, "id")),
                 std::to_string(integer_of(gpu, "index").value_or(0)),
                 printable(text_of(gpu, "name")), memory_cell(gpu),
                 with_unit(number_of(gpu, "utilization"), 100, " %"),
                 with_unit(number_of(gpu, "temperature_celsius"), 1, " C"),
                 with_unit(number_of(gpu, "power_watts"), 1, " W"), holder_cell(agent, gpu)});
    }
  }
  if (has_rows) std::printf("\n%s", table.text(output_columns()).c_str());
  print_products(agents);
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
  print_gpus(items);
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

Status drain(Rest& rest, const std::string& id) {
  TRY_ASSIGN(const nlohmann::json agent, rest.post_json(agent_path(id, "/drain")));
  const std::size_t tasks = list_of(agent, "tasks").size();
  std::printf("%s %s\n", printable(id).c_str(),
              tasks == 0 ? "drained" : "is draining: its jobs save, and go on where there is room");
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
  command->add_flag("--json", *as_json, "One array of the agents, each as the server says it");
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
  add_act(app.add_subcommand(
              "drain", "Cordon agents; their jobs save, and go on elsewhere when there is room"),
          session, drain);
}

}  // namespace trainyard::client
