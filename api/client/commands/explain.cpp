// trainyard explain ID: why a job is where it is.
#include <cstdio>
#include <memory>
#include <string>

#include "api/client/commands/command.h"
#include "api/client/json_read.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

std::string free_cell(const nlohmann::json& host, const char* resource) {
  return grouped(integer_of(member_of(host, "free"), resource).value_or(0)) + "/" +
         grouped(integer_of(member_of(host, "capacity"), resource).value_or(0));
}

void print_hosts(const nlohmann::json& hosts) {
  if (hosts.empty()) return;
  Table table({{"AGENT"},
               {"STATE"},
               {"FREE CPUS", Align::right},
               {"FREE MEMORY MB", Align::right},
               {"FREE GPUS", Align::right},
               {"WHAT IS SHORT"}});
  for (const nlohmann::json& host : hosts) {
    table.add({printable(text_of(host, "agent")), text_of(host, "state"), free_cell(host, "cpus"),
               free_cell(host, "memory_mb"), free_cell(host, "gpus"),
               printable(text_of(host, "message"))});
  }
  std::printf("\n%s", table.text().c_str());
}

void print_who_would_free_enough(const nlohmann::json& jobs) {
  if (jobs.empty()) return;
  std::string names;
  for (const nlohmann::json& job : jobs) {
    if (job.is_string()) names += " " + printable(job.get<std::string>());
  }
  std::printf("\nIt would fit after the end of:%s\n", names.c_str());
}

Result<int> explain(Rest& rest, const std::string& id) {
  TRY_ASSIGN(const nlohmann::json answer, rest.get_json(job_path(id, "/explain")));
  std::printf("%s  %s  %s\n", printable(id).c_str(), text_of(answer, "state").c_str(),
              text_of(answer, "reason").c_str());
  const std::string message = printable(text_of(answer, "message"));
  if (!message.empty()) std::printf("%s\n", message.c_str());
  if (const auto position = integer_of(answer, "queue_position")) {
    std::printf("Queue: %s of %s\n", grouped(*position).c_str(),
                grouped(integer_of(answer, "queue_length").value_or(*position)).c_str());
  }
  if (const std::string not_before = text_of(answer, "not_before"); !not_before.empty()) {
    std::printf("Not before: %s\n", printable(not_before).c_str());
  }
  print_hosts(list_of(answer, "hosts"));
  print_who_would_free_enough(list_of(answer, "would_free_enough"));
  return exit_done;
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("explain", "Say why a job is where it is");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "The job")->required();
  command->callback(
      [id, &session] { run_with_server(session, [&](Rest& rest) { return explain(rest, *id); }); });
}

}  // namespace trainyard::client
