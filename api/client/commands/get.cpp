// trainyard get ID: all that matters of one job, or the server's answer as it is.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "api/client/commands/command.h"
#include "api/client/job_list.h"
#include "api/client/job_view.h"
#include "api/client/json_read.h"
#include "api/client/quality.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

struct GetOptions {
  std::vector<std::string> ids;
  bool json = false;
  bool all_attempts = false;
};

void print_row(const std::string& name, const std::string& value) {
  if (!value.empty()) std::printf("%-30s %s\n", name.c_str(), value.c_str());
}

// Loss, accuracy and their like say of which examples they are.
void print_metrics(const JobView& job) {
  for (const auto& [name, value] : job.metrics) {
    const bool is_of_batch = name == "loss" || is_quality(name);
    print_row(is_of_batch ? name + " (training batch)" : printable(name), decimal_text(value));
  }
}

// An earlier attempt's end is history: its log stands in `logs --attempt`.
void print_failure(const JobView& job) {
  if (job.failure.empty()) return;
  if (job.failure_attempt != job.attempt) {
    print_row("failure (attempt " + std::to_string(job.failure_attempt) + ")",
              printable(job.failure));
    return;
  }
  if (!job.failure_is_said) print_row("failure", printable(job.failure));
  PrintableLines log;
  std::string lines = log.add(job.failure_log);
  lines += log.finish();
  std::printf("%s\n", lines.c_str());
}

void print_job(const JobView& job) {
  const WallTime now = read_clocks().wall;
  print_row("id", printable(job.id));
  print_row("name", printable(job.name));
  print_row("state", std::string(name_of(job.state)) +
                         (job.reason.empty() ? "" : "  " + printable(job.reason)));
  print_row("message", printable(job.message));
  print_row("created", age_text(job.created_at, now) + " ago");
  if (job.started_at.is_set()) print_row("started", age_text(job.started_at, now) + " ago");
  if (job.finished_at.is_set()) print_row("finished", age_text(job.finished_at, now) + " ago");
  print_row("attempt", std::to_string(job.attempt));
  print_row("step", grouped(job.step) + (job.max_steps > 0 ? " of " + grouped(job.max_steps) : ""));
  if (job.latest_checkpoint) print_row("checkpoint", "step " + grouped(*job.latest_checkpoint));
  for (const auto& [task, words] : job.routes) print_row(printable(task), printable(words));
  print_metrics(job);
  print_failure(job);
}

std::string ending_cell(const nlohmann::json& task) {
  if (const auto code = integer_of(task, "exit_code")) return "exit " + std::to_string(*code);
  if (const auto signal = integer_of(task, "signal")) return "signal " + std::to_string(*signal);
  return "-";
}

nlohmann::json of_attempt(const nlohmann::json& tasks, std::int64_t attempt) {
  nlohmann::json some = nlohmann::json::array();
  std::ranges::copy_if(tasks, std::back_inserter(some), [attempt](const nlohmann::json& task) {
    return integer_of(task, "attempt") == attempt;
  });
  return some;
}

void print_tasks(const nlohmann::json& tasks) {
  if (tasks.empty()) return;
  Table table({{"TASK"},
               {"ATTEMPT", Align::right},
               {.title = "AGENT", .columns_min = 8},
               {"STATE"},
               {"ADDRESS"},
               {"PID", Align::right},
               {"ENDED"}});
  for (const nlohmann::json& task : tasks) {
    const auto pid = integer_of(task, "pid");
    table.add({text_of(task, "role") + "/" + std::to_string(integer_of(task, "index").value_or(0)),
               std::to_string(integer_of(task, "attempt").value_or(0)),
               printable(text_of(task, "agent")), text_of(task, "state"),
               printable(text_of(task, "address")), pid ? std::to_string(*pid) : "-",
               ending_cell(task)});
  }
  std::printf("\n%s", table.text(output_columns()).c_str());
}

Status get(Rest& rest, const std::string& id, const GetOptions& options) {
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json(job_path(id)));
  if (options.json) {
    std::printf("%s\n", answer.dump(2).c_str());
    return ok();
  }
  if (id != options.ids.front()) std::printf("\n");
  TRY_ASSIGN(const JobView job, parse_job(answer));
  print_job(job);
  TRY_ASSIGN(nlohmann::json tasks, fetch_items(rest, job_path(id, "/tasks")));
  if (!options.all_attempts) tasks = of_attempt(tasks, job.attempt);
  print_tasks(tasks);
  return ok();
}

}  // namespace

void add_get(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("get", "Show jobs and their tasks");
  const auto options = std::make_shared<GetOptions>();
  command->add_option("ID", options->ids, "The jobs")->required();
  command->add_flag("--json", options->json, "As the server says it, one document after another");
  command->add_flag("--all-attempts", options->all_attempts,
                    "Tasks of earlier attempts too (default: of the newest)");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) -> Result<int> {
      return for_each(options->ids, [&](const std::string& id) { return get(rest, id, *options); });
    });
  });
}

}  // namespace trainyard::client
