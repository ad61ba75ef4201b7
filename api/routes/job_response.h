// A job as a response.
#pragma once

#include <string>
#include <vector>

#include "api/http/response.h"
#include "schemas/types/job.h"
#include "schemas/types/task.h"

namespace trainyard::api {

// The job as JSON text, with its spec as it is stored.
std::string job_text(Job job, const std::vector<TaskAttempt>& tasks);

// 200 with the job; `tasks` at least those of its current attempt.
Response job_response(Job job, const std::vector<TaskAttempt>& tasks);

// The job's version, for ETag: without quotes.
std::string job_tag(const Job& job);

}  // namespace trainyard::api
