// trainyard list: jobs, newest first.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_view.h"
#include "api/client/json_read.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

constexpr std::int64_t page_size_max = 100;

struct ListOptions {
  std::string state;
  std::string name;
  std::vector<std::string> labels;
  std::int64_t limit = 50;
  bool json = false;
};

std::string query_of(const ListOptions& options) {
  std::string query = "/v1/jobs?limit=" + std::to_string(std::min(options.limit, page_size_max));
  if (!options.state.empty()) query += "&state=" + percent_encode(options.state);
  if (!options.name.empty()) query += "&name=" + percent_encode(options.name);
  for (std::string label : options.labels) {
    if (label.find(':') == std::string::npos) std::ranges::replace(label, '=', ':');
    query += "&label=" + percent_encode(label);
  }
  return query;
}

Result<nlohmann::json> fetch(Rest& rest, const ListOptions& options) {
  nlohmann::json items = nlohmann::json::array();
  const std::string query = query_of(options);
  std::string page = query;
  while (true) {
    TRY_ASSIGN(const nlohmann::json answer, rest.get_json(page));
    for (const nlohmann::json& item : list_of(answer, "items")) {
      if (std::ssize(items) < options.limit) items.push_back(item);
    }
    const std::string token = text_of(answer, "next_page_token");
    if (token.empty() || std::ssize(items) >= options.limit) return items;
    page = query + "&page_token=" + percent_encode(token);
  }
}

std::string step_cell(const JobView& job) {
  if (job.step == 0 && job.max_steps == 0) return "-";
  return grouped(job.step) + (job.max_steps > 0 ? "/" + grouped(job.max_steps) : "");
}

std::string number_cell(const std::optional<double>& number) {
  return number ? decimal_text(*number) : "-";
}

Result<int> list(Rest& rest, const ListOptions& options) {
  TRY_ASSIGN(const nlohmann::json items, fetch(rest, options));
  if (options.json) {
    std::printf("%s\n", items.dump(2).c_str());
    return exit_done;
  }
  const WallTime now = read_clocks().wall;
  Table table({{"ID"},
               {"NAME"},
               {"STATE"},
               {"REASON"},
               {"STEP", Align::right},
               {"LOSS", Align::right},
               {"ACCURACY", Align::right},
               {"AGE", Align::right}});
  for (const nlohmann::json& item : items) {
    TRY_ASSIGN(const JobView job, parse_job(item));
    table.add({printable(job.id), printable(job.name), std::string(name_of(job.state)),
               printable(job.reason), step_cell(job), number_cell(job.loss),
               number_cell(job.accuracy()), age_text(job.created_at, now)});
  }
  std::fputs(table.text().c_str(), stdout);
  return exit_done;
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("list", "List jobs, newest first");
  const auto options = std::make_shared<ListOptions>();
  command->add_option("--state", options->state, "Only those in this state");
  command->add_option("--name", options->name, "Only those of this name");
  command->add_option("--label", options->labels, "Only those with this label: KEY=VALUE");
  command->add_option("--limit", options->limit, "At most so many")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}).description("1..1000000"));
  command->add_flag("--json", options->json, "As the server says it");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return list(rest, *options); });
  });
}

}  // namespace trainyard::client
