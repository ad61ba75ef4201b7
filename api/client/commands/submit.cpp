// trainyard submit FILE: posts a job spec; prints the job's id alone on stdout, so that scripts can
// take it.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/client/commands/command.h"
#include "api/client/json_read.h"
#include "api/client/model_lines.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "schemas/files/whole_file.h"
#include "schemas/wire/json_text.h"

namespace trainyard::client {
namespace {

constexpr std::size_t spec_bytes_max = 1 << 20;  // as the server's api/http/request_parser.h

struct SubmitOptions {
  std::string file;
  std::optional<std::string> name;
  std::string idempotency_key;
  bool watch = false;
  bool dry_run = false;
};

// It becomes a line of the request's head, where a line's end would begin another header.
std::string fault_of_key(const std::string& key) {
  constexpr std::size_t length_max = 255;  // the server's: api/routes/submit.cpp
  const auto is_printable_ascii = [](char c) { return c >= ' ' && c <= '~'; };
  if (!key.empty() && key.size() <= length_max && std::ranges::all_of(key, is_printable_ascii)) {
    return "";
  }
  return "must have 1 to " + std::to_string(length_max) + " characters, printable ASCII alone";
}

// What is no JSON is refused here, where the file's name is known; all else the server says better.
Result<std::string> read_spec(std::istream& input, const std::string& name) {
  const auto text = read_stream(input, spec_bytes_max);
  if (!text) return invalid(name + " is larger than 1 MiB, the most that a server takes");
  if (input.bad() || !input.eof()) return invalid("cannot read " + name);
  TRY(parse_json(*text, name));
  return *text;
}

Result<std::string> read_spec(const std::string& file) {
  if (file == "-") return read_spec(std::cin, "standard input");
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return invalid(printable(file) + " is a folder");
  std::ifstream input(file, std::ios::binary);
  return read_spec(input, printable(file));
}

// What is no object goes to the server as it is, whose words about it are better than ours.
std::string with_name(const std::string& spec, const std::optional<std::string>& name) {
  if (!name) return spec;
  nlohmann::json document = nlohmann::json::parse(spec, nullptr, false);
  if (!document.is_object()) return spec;
  document["name"] = *name;
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void tell_plan(const nlohmann::json& plan) {
  std::printf("%s\n", printable(text_of(plan, "message")).c_str());
  const nlohmann::json& tasks = list_of(plan, "tasks");
  if (tasks.empty()) return;
  Table table({{"TASK"}, {"AGENT"}, {"GPUS"}});
  for (const nlohmann::json& task : tasks) {
    table.add({printable(text_of(task, "task")), printable(text_of(task, "agent")),
               list_of(task, "gpus").empty() ? "-" : list_of(task, "gpus").dump()});
  }
  std::fputs(table.text().c_str(), stdout);
}

Result<int> submit(Rest& rest, const SubmitOptions& options) {
  TRY_ASSIGN(const std::string text, read_spec(options.file));
  const std::string spec = with_name(text, options.name);
  if (options.dry_run) {
    TRY_ASSIGN(const nlohmann::json planned, rest.post_json("/v1/jobs?dry_run=true", spec));
    tell_plan(member_of(planned, "plan"));
    std::fputs(model_lines(member_of(planned, "model")).c_str(), stdout);
    return exit_done;
  }
  Request request{.method = "POST", .path = "/v1/jobs", .body = spec};
  if (!options.idempotency_key.empty())
    request.headers["Idempotency-Key"] = options.idempotency_key;
  TRY_ASSIGN(const Answer answer, rest.send(request));
  TRY_ASSIGN(const nlohmann::json job, json_of(answer));
  const std::string id = text_of(job, "id");
  if (id.empty()) return internal("the server's answer names no job");
  std::printf("%s\n", printable(id).c_str());
  std::fflush(stdout);
  return options.watch ? watch_and_tell(rest, id) : exit_done;
}

}  // namespace

void add_submit(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("submit", "Submit a job; prints its id");
  const auto options = std::make_shared<SubmitOptions>();  // as long as the callback that reads it
  command->add_option("FILE", options->file, "The job spec, JSON; - reads stdin")->required();
  command->add_flag("--watch", options->watch, "Watch it to its end");
  command->add_flag("--dry-run", options->dry_run,
                    "Only check it, plan where it would run, and show its model");
  command->add_option("--name", options->name, "Name of the job, in place of the spec's");
  command
      ->add_option("--idempotency-key", options->idempotency_key,
                   "The same key with the same spec makes one job, however often it is sent")
      ->check(fault_of_key);
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return submit(rest, *options); });
  });
}

}  // namespace trainyard::client
