// trainyard explain ID: why a job is where it is, and where its parameters are.
#include <algorithm>
#include <array>
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

std::string variables_in_words(const nlohmann::json& share) {
  constexpr std::size_t shown_max = 3;
  const nlohmann::json& variables = list_of(share, "variables");
  const std::size_t shown = std::min(shown_max, variables.size());
  std::string words;
  for (std::size_t i = 0; i < shown; ++i) {
    words += (i == 0 ? "" : ", ") + printable(text_of(variables[i], "name")) + " " +
             bytes_text(integer_of(variables[i], "bytes").value_or(0));
  }
  const std::int64_t others = static_cast<std::int64_t>(variables.size() - shown) +
                              integer_of(share, "variables_left_out").value_or(0);
  if (others == 0) return words;
  return shown == 0 ? grouped(others) : words + " and " + grouped(others) + " more";
}

// Nothing where one task holds all.
std::string balance_words(const nlohmann::json& partition) {
  if (list_of(partition, "shares").size() <= 1) return "";
  std::array<char, 64> words{};
  std::snprintf(words.data(), words.size(), ", the largest share is %.2f times the mean",
                number_of(partition, "balance").value_or(1));
  return words.data();
}

void print_partition(const nlohmann::json& partition) {
  if (!partition.is_object()) return;
  std::printf("\nParameters of attempt %s: %s by %s%s\n",
              grouped(integer_of(partition, "attempt").value_or(0)).c_str(),
              bytes_text(integer_of(partition, "bytes").value_or(0)).c_str(),
              printable(text_of(partition, "policy")).c_str(), balance_words(partition).c_str());
  Table table(
      {{"TASK"}, {"BYTES", Align::right}, {"SHARE", Align::right}, {"REACHED BY"}, {"VARIABLES"}});
  for (const nlohmann::json& share : list_of(partition, "shares")) {
    const double percent = 100 * number_of(share, "share").value_or(0);
    const std::string transport = printable(text_of(share, "transport"));
    table.add({printable(text_of(share, "task")),
               bytes_text(integer_of(share, "bytes").value_or(0)), decimal_text(percent) + " %",
               transport.empty() ? "-" : transport, variables_in_words(share)});
  }
  std::printf("%s", table.text().c_str());
  for (const nlohmann::json& name : list_of(partition, "tables")) {
    if (!name.is_string()) continue;
    std::printf("Rows of %s are spread over all of them by id\n",
                printable(name.get<std::string>()).c_str());
  }
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
  print_partition(member_of(answer, "partition"));
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
