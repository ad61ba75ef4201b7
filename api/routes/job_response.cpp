// Jobs -> responses.
#include "api/routes/job_response.h"

#include "schemas/wire/job_json.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {

Response job_response(const Job& job, const std::vector<TaskAttempt>& tasks) {
  Response response = json_response(200, to_text(job_to_json(job, tasks)));
  response.headers.emplace_back("Cache-Control", "no-cache");  // may be kept, but ask each time
  return response;
}

std::string job_tag(const Job& job) { return std::to_string(job.version); }

}  // namespace trainyard::api
