// Parsing, planning and submitting of specs.
#include "api/routes/submit.h"

#include <utility>

#include "api/routes/job_response.h"
#include "api/routes/query_reader.h"
#include "api/routes/render.h"
#include "api/routes/spec_faults.h"
#include "schemas/files/sha256.h"
#include "schemas/wire/job_model.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/json_text.h"
#include "schemas/wire/model_analysis_json.h"

namespace trainyard::api {
namespace {

constexpr std::size_t idempotency_key_max = 255;

Problem problem_of_refusals(const std::vector<scheduler::SpecFault>& refusals) {
  std::vector<Fault> faults;
  for (const auto& [pointer, message] : refusals) faults.push_back({pointer, message});
  return problem_of_faults(faults, "the job spec");
}

void plan_job(Backend& backend, const JobSpec& spec, nlohmann::json model,
              const Responder& responder) {
  const auto answer = [responder,
                       model = std::move(model)](const Result<scheduler::Planned>& planned) {
    if (!planned) return responder.error(planned.error());
    const scheduler::Plan& plan = planned->plan;
    if (!plan.faults.empty()) return responder.problem(problem_of_refusals(plan.faults));
    responder.json(200, to_text({{"spec", to_json_value(planned->spec)},
                                 {"spec_hash", sha256_hex(to_json(planned->spec))},
                                 {"plan", plan_to_json(plan)},
                                 {"model", model}}));
  };
  backend.scheduler.plan(spec, rendered<scheduler::Planned>(backend, answer));
}

// A job that was there already may have tasks, which are shown as they are stored.
void answer_submitted(ReaderPool& readers, const Result<scheduler::Submitted>& submitted,
                      const Responder& responder) {
  if (!submitted) return responder.error(submitted.error());
  if (!submitted->faults.empty()) return responder.problem(problem_of_refusals(submitted->faults));
  JobAndTasks shown{.job = submitted->job, .tasks = {}};
  if (submitted->replayed) {
    auto found = read_job(readers, shown.job.id);
    if (!found) return responder.error(found.error());
    shown = std::move(*found);
  }
  const Job& job = shown.job;
  Response response = job_response(job, shown.tasks);
  response.status = 201;
  response.headers.emplace_back("Location", "/v1/jobs/" + job.id.text);
  response.headers.emplace_back("ETag", '"' + job_tag(job) + '"');
  responder.send(std::move(response));
}

}  // namespace

void submit_job(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const bool dry_run = query.flag("dry_run");
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const std::string_view key = request.header("idempotency-key");
  if (key.size() > idempotency_key_max ||
      (key.empty() && request.headers.contains("idempotency-key"))) {
    return responder.problem(
        bad_request("bad_header", "Idempotency-Key must have 1 to 255 characters"));
  }

  ParsedJobSpec parsed = parse_job_spec(request.body);
  if (const auto* broken = std::get_if<NotJson>(&parsed)) {
    return responder.problem(bad_request("not_json", broken->message));
  }
  if (const auto* faults = std::get_if<std::vector<Fault>>(&parsed)) {
    return responder.problem(problem_of_faults(*faults, "the job spec"));
  }
  auto& spec = std::get<JobSpec>(parsed);
  if (dry_run) {
    return plan_job(backend, spec, model::analysis_to_json(analyse_job(spec)), responder);
  }
  // A request is the same whichever way its spec is written: what counts is what it says.
  std::string spec_json = to_json(spec);
  std::string request_hash = key.empty() ? "" : sha256_hex(spec_json);
  backend.scheduler.submit(
      {.spec = std::move(spec),
       .spec_json = std::move(spec_json),
       .idempotency_key = std::string(key),
       .request_hash = std::move(request_hash)},
      rendered<scheduler::Submitted>(backend, [responder, readers = backend.readers](
                                                  const Result<scheduler::Submitted>& submitted) {
        answer_submitted(*readers, submitted, responder);
      }));
}

}  // namespace trainyard::api
