// Jobs -> responses.
#include "api/routes/job_response.h"

#include <utility>

#include "schemas/wire/job_json.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {

std::string job_text(Job job, const std::vector<TaskAttempt>& tasks) {
  // The spec is stored as it is served, and is most of the text: it is put in as it is. Parsing and
  // writing it again would cost more than all the rest of an answer.
  const std::string spec = std::exchange(job.spec_json, "{}");
  const nlohmann::json members = job_to_json(job, tasks);
  std::string text;
  for (const auto& [name, value] : members.items()) {
    text += text.empty() ? '{' : ',';
    text += to_text(name) + ':' + (name == "spec" ? spec : to_text(value));
  }
  return text + '}';
}

Response job_response(Job job, const std::vector<TaskAttempt>& tasks) {
  Response response = json_response(200, job_text(std::move(job), tasks));
  response.headers.emplace_back("Cache-Control", "no-cache");  // may be kept, but ask each time
  return response;
}

std::string job_tag(const Job& job) { return std::to_string(job.version); }

}  // namespace trainyard::api
