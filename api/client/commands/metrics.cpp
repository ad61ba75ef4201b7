// trainyard metrics ID: what a job has measured, in one row for each metric, or all of its points.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "api/client/commands/command.h"
#include "api/client/json_read.h"
#include "api/client/terminal.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

struct MetricsOptions {
  std::string id;
  std::string names;
  std::optional<std::int64_t> from_step;
  std::optional<std::int64_t> to_step;
  std::int64_t max_points = 1000;
  bool csv = false;
  bool json = false;
};

std::string path_of(const MetricsOptions& options) {
  std::string query = "?max_points=" + std::to_string(options.max_points);
  if (!options.names.empty()) query += "&names=" + percent_encode(options.names);
  if (options.from_step) query += "&from_step=" + std::to_string(*options.from_step);
  if (options.to_step) query += "&to_step=" + std::to_string(*options.to_step);
  return job_path(options.id, "/metrics" + query);
}

void add_row(Table& table, const nlohmann::json& series) {
  const nlohmann::json& points = list_of(series, "points");
  std::optional<double> lowest;
  std::optional<double> highest;
  for (const nlohmann::json& point : points) {
    const auto value = number_of(point, "value");
    if (!value) continue;  // it was no finite number
    lowest = std::min(lowest.value_or(*value), *value);
    highest = std::max(highest.value_or(*value), *value);
  }
  const auto cell = [](const std::optional<double>& number) {
    return number ? decimal_text(*number) : std::string("-");
  };
  const nlohmann::json nothing;
  const nlohmann::json& last = points.empty() ? nothing : points.back();
  table.add({printable(text_of(series, "name")), grouped(integer_of(last, "step").value_or(0)),
             cell(number_of(last, "value")), cell(lowest), cell(highest)});
}

Result<int> print_metrics(Rest& rest, const MetricsOptions& options) {
  Request request{.path = path_of(options)};
  if (options.csv) {
    request.headers["Accept"] = "text/csv";
    TRY_ASSIGN(const Answer answer, rest.send(request));
    if (!answer.succeeded()) return problem_words(answer);
    std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    return exit_done;
  }
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json(request.path));
  if (options.json) {
    std::printf("%s\n", answer.dump(2).c_str());
    return exit_done;
  }
  Table table({{.title = "METRIC", .columns_min = 8},
               {"STEP", Align::right},
               {"LAST", Align::right},
               {"LOWEST", Align::right},
               {"HIGHEST", Align::right}});
  const nlohmann::json& all_series = list_of(answer, "series");
  for (const nlohmann::json& series : all_series) add_row(table, series);
  std::fputs(table.text(output_columns()).c_str(), stdout);
  if (all_series.empty()) {
    std::fprintf(stderr, "Job %s has no %s of these steps yet\n", printable(options.id).c_str(),
                 options.names.empty() ? "metrics" : printable(options.names).c_str());
  }
  return exit_done;
}

}  // namespace

void add_metrics(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("metrics", "Print what a job has measured");
  const auto options = std::make_shared<MetricsOptions>();
  command->add_option("ID", options->id, "The job")->required();
  command->add_option("--names", options->names, "Only these, such as loss,test_accuracy");
  command->add_option("--from-step", options->from_step, "From this step on");
  command->add_option("--to-step", options->to_step, "Up to this step");
  command
      ->add_option("--max-points", options->max_points,
                   "At most so many points of each; of more the extremes stay")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{6}, std::int64_t{100'000}).description("6..100000"));
  CLI::Option* csv = command->add_flag("--csv", options->csv, "All points: name,step,time,value");
  command->add_flag("--json", options->json, "All points, as the server says it")->excludes(csv);
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return print_metrics(rest, *options); });
  });
}

}  // namespace trainyard::client
