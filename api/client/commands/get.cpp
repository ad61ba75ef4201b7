// trainyard get ID: all that matters of one job, or the server's answer as it is.
#include <cstdio>
#include <memory>
#include <string>

#include "api/client/commands/command.h"
#include "api/client/job_view.h"
#include "api/client/json_read.h"
#include "api/client/text.h"
#include "schemas/base/clock.h"

namespace trainyard::client {
namespace {

struct GetOptions {
  std::string id;
  bool json = false;
};

void print_row(const std::string& name, const std::string& value) {
  if (!value.empty()) std::printf("%-20s %s\n", name.c_str(), value.c_str());
}

void print_metrics(const JobView& job) {
  for (const auto& [name, value] : job.metrics) print_row(printable(name), decimal_text(value));
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
  print_metrics(job);
  if (job.failure.empty()) return;
  print_row("failure", printable(job.failure));
  PrintableLines log;
  std::string lines = log.add(job.failure_log);
  lines += log.finish();
  std::printf("%s\n", lines.c_str());
}

std::string ending_cell(const nlohmann::json& task) {
  if (const auto code = integer_of(task, "exit_code")) return "exit " + std::to_string(*code);
  if (const auto signal = integer_of(task, "signal")) return "signal " + std::to_string(*signal);
  return "-";
}

void print_tasks(const nlohmann::json& tasks) {
  if (tasks.empty()) return;
  Table table({{"TASK"},
               {"ATTEMPT", Align::right},
               {"AGENT"},
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
  std::printf("\n%s", table.text().c_str());
}

Result<int> get(Rest& rest, const GetOptions& options) {
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json(job_path(options.id)));
  if (options.json) {
    std::printf("%s\n", answer.dump(2).c_str());
    return exit_done;
  }
  TRY_ASSIGN(const JobView job, parse_job(answer));
  print_job(job);
  TRY_ASSIGN(const nlohmann::json tasks, rest.get_json(job_path(options.id, "/tasks")));
  print_tasks(list_of(tasks, "items"));
  return exit_done;
}

}  // namespace

void add_get(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("get", "Show one job");
  const auto options = std::make_shared<GetOptions>();
  command->add_option("ID", options->id, "The job")->required();
  command->add_flag("--json", options->json, "As the server says it");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return get(rest, *options); });
  });
}

}  // namespace trainyard::client
