// trainyard logs ID: what a task wrote.
#include <cstdio>
#include <memory>
#include <optional>

#include "api/client/commands/command.h"
#include "api/client/terminal.h"
#include "api/client/text.h"

namespace trainyard::client {
namespace {

struct LogsOptions {
  std::string id;
  std::string task;
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> tail;
  bool follow = false;
};

std::string path_of(const LogsOptions& options) {
  std::string query;
  const auto add = [&query](const std::string& parameter) {
    query += (query.empty() ? "?" : "&") + parameter;
  };
  if (!options.task.empty()) add("task=" + percent_encode(options.task));
  if (options.attempt) add("attempt=" + std::to_string(*options.attempt));
  if (options.tail) add("tail=" + std::to_string(*options.tail));
  if (options.follow) add("follow=true");
  return job_path(options.id, "/logs" + query);
}

Status write_out(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
      std::fflush(stdout) != 0) {
    return unavailable("cannot write to the standard output");
  }
  return ok();
}

Result<int> print_logs(Rest& rest, const LogsOptions& options) {
  const InterruptibleScope scope;
  const Request request{.path = path_of(options),
                        .timeout = options.follow ? Millis{0} : seconds(60)};
  const bool for_people = output_is_terminal();  // a file or a pipe is given the bytes as they are
  PrintableLines printable_lines;
  bool is_empty = true;
  const Sink to_stdout = [&](const Answer&, std::string_view bytes) {
    is_empty = is_empty && bytes.empty();
    return for_people ? write_out(printable_lines.add(bytes)) : write_out(bytes);
  };
  const Result<Answer> answer = rest.stream(request, to_stdout);
  TRY(write_out(printable_lines.finish()));
  if (!answer && calls_interrupted()) return exit_interrupted;
  if (!answer) return answer.error();
  if (!answer->succeeded()) return problem_words(*answer);
  if (is_empty) std::fprintf(stderr, "nothing is written yet\n");
  return exit_done;
}

}  // namespace

void add_logs(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("logs", "Print what a task wrote");
  const auto options = std::make_shared<LogsOptions>();
  command->add_option("ID", options->id, "The job")->required();
  command->add_option("--task", options->task, "The task, such as ps/0 (default: the chief)");
  command->add_option("--attempt", options->attempt, "Of this attempt (default: the newest)");
  command->add_option("--tail", options->tail, "The last so many lines; -1: all (default: 200)")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{100'000}).description("-1..100000"));
  command->add_flag("-f,--follow", options->follow, "Go on as more is written, until the job ends");
  command->callback([options, &session] {
    run_with_server(session, [&](Rest& rest) { return print_logs(rest, *options); });
  });
}

}  // namespace trainyard::client
