// trainyard checkpoints ID: the committed checkpoints of a job.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/json_read.h"
#include "api/client/quality.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

std::string metric_cell(const nlohmann::json& item, const char* name) {
  const auto value = number_of(member_of(item, "metrics"), name);
  return value ? decimal_text(*value) : "-";
}

std::map<std::string, double> metrics_of(const nlohmann::json& item) {
  std::map<std::string, double> metrics;
  const nlohmann::json& all = member_of(item, "metrics");
  if (!all.is_object()) return metrics;
  for (const auto& [name, value] : all.items()) {
    if (value.is_number()) metrics.emplace(name, value.get<double>());
  }
  return metrics;
}

Result<int> print_checkpoints(Rest& rest, const std::string& id) {
  TRY_ASSIGN(const nlohmann::json items, fetch_items(rest, job_path(id, "/checkpoints")));
  const WallTime now = read_clocks().wall;
  Table table({{"STEP", Align::right},
               {"LOSS", Align::right},
               {"TEST LOSS", Align::right},
               {"TEST METRIC", Align::right},
               {"SIZE", Align::right},
               {"FILES", Align::right},
               {"AGE", Align::right}});
  for (const nlohmann::json& item : items) {
    table.add({grouped(integer_of(item, "step").value_or(0)), metric_cell(item, "loss"),
               metric_cell(item, "test_loss"),
               cell_of(quality_of(metrics_of(item), MetricSplit::test)),
               bytes_text(integer_of(item, "bytes").value_or(0)),
               std::to_string(list_of(item, "files").size()),
               age_text(time_of(item, "created_at"), now)});
  }
  std::fputs(table.text().c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_checkpoints(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("checkpoints", "List a job's committed checkpoints");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "The job")->required();
  command->callback([id, &session] {
    run_with_server(session, [&](Rest& rest) { return print_checkpoints(rest, *id); });
  });
}

}  // namespace trainyard::client
