// trainyard list: jobs, newest first.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/job_view.h"
#include "api/client/quality.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

struct ListOptions {
  JobFilter filter;
  std::int64_t limit = 50;
  bool json = false;
};

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (const JobState state : job_states) names.emplace_back(name_of(state));
  return names;
}

std::string step_cell(const JobView& job) {
  if (job.step == 0 && job.max_steps == 0) return "-";
  return grouped(job.step) + (job.max_steps > 0 ? "/" + grouped(job.max_steps) : "");
}

std::string number_cell(const std::optional<double>& number) {
  return number ? decimal_text(*number) : "-";
}

Result<int> list(Rest& rest, const ListOptions& options) {
  TRY_ASSIGN(const nlohmann::json items, fetch_jobs(rest, options.filter, options.limit));
  if (options.json) {
    std::printf("%s\n", items.dump(2).c_str());
    return exit_done;
  }
  const WallTime now = read_clocks().wall;
  Table table({{"ID"},
               {.title = "NAME", .columns_min = 8},
               {"STATE"},
               {.title = "REASON", .columns_min = 8},
               {"STEP", Align::right},
               {"LOSS", Align::right},
               {"TEST METRIC", Align::right},
               {"AGE", Align::right}});
  for (const nlohmann::json& item : items) {
    TRY_ASSIGN(const JobView job, parse_job(item));
    table.add({printable(job.id), printable(job.name), std::string(name_of(job.state)),
               printable(job.reason), step_cell(job), number_cell(job.loss),
               cell_of(quality_of(job.metrics, MetricSplit::test)), age_text(job.created_at, now)});
  }
  std::fputs(table.text(output_columns()).c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("list", "List jobs, newest first");
  const auto options = std::make_shared<ListOptions>();
  command->add_option("--state", options->filter.state, "Only those in this state")
      ->check(CLI::IsMember(state_names()));
  command->add_option("--name", options->filter.name, "Only those of this name");
  add_label_option(*command, options->filter.labels, "Only those with this label");
  command->add_option("--limit", options->limit, "At most so many")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}).description("1..1000000"));
  command->add_flag("--json", options->json, "One array of the jobs, each as the server says it");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return list(rest, *options); });
  });
}

}  // namespace trainyard::client
