// What the commands share: saying what went wrong, and watching a job to its end.
#include "api/client/commands/command.h"

#include <cstdio>

#include "api/client/progress.h"
#include "api/client/terminal.h"
#include "api/client/text.h"
#include "api/client/watch.h"

namespace trainyard::client {

int report(const Error& error) {
  std::fprintf(stderr, "trainyard: %s\n", error.message.c_str());
  return exit_failed;
}

int for_each(const std::vector<std::string>& ids,
             const std::function<Status(const std::string& id)>& call) {
  int exit_code = exit_done;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Status done = call(ids[i]);
    if (done) continue;
    Error error = done.error();
    const bool is_away = error.code == Code::unavailable;
    if (!is_away && error.message.find(ids[i]) == std::string::npos) {
      error.message.insert(0, printable(ids[i]) + ": ");
    }
    if (is_away && i + 1 < ids.size()) {  // the others would be told the same
      error.message += "\n  not done:";
      for (std::size_t left = i; left < ids.size(); ++left) {
        error.message += " " + printable(ids[left]);
      }
    }
    exit_code = report(error);
    if (is_away) break;
  }
  return exit_code;
}

CLI::Option* add_label_option(CLI::App& command, std::vector<std::string>& labels,
                              const std::string& description) {
  const auto fault_of = [](const std::string& label) {
    const std::size_t sign = label.find_first_of("=:");
    const bool is_pair = sign != std::string::npos && sign > 0;
    return is_pair ? std::string() : "must be KEY=VALUE, got \"" + label + '"';
  };
  return command
      .add_option("--label", labels, description + ": KEY=VALUE; may be repeated, all must match")
      ->allow_extra_args(false)  // else it would take what follows, ids too
      ->check(fault_of);
}

std::string job_path(const std::string& job_id, const std::string& rest_of_path) {
  return "/v1/jobs/" + percent_encode(job_id) + rest_of_path;
}

Result<int> watch_and_tell(Rest& rest, const std::string& job_id) {
  const InterruptibleScope scope;
  const Result<JobView> job = watch_job(rest, job_id);
  if (!job && calls_interrupted()) {
    std::fprintf(stderr, "Job %s goes on. Watch it again: trainyard watch %s\n",
                 printable(job_id).c_str(), printable(job_id).c_str());
    return exit_interrupted;
  }
  if (!job) return job.error();
  std::printf("%s\n", closing_words(*job).c_str());
  return job->state == JobState::succeeded ? exit_done : exit_job_ended_otherwise;
}

}  // namespace trainyard::client
