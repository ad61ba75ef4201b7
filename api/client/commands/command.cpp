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
