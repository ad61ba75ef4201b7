// Handlers of /v1/jobs/{id}/checkpoints.
#include "api/routes/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/routes/paging.h"
#include "api/routes/query_reader.h"
#include "api/routes/render.h"
#include "schemas/model/exportable.h"
#include "schemas/types/retention.h"
#include "schemas/wire/job_json.h"
#include "schemas/wire/job_model.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

// "<step>.<attempt>" of the last checkpoint of a page.
using Place = std::pair<std::int64_t, std::int64_t>;
std::optional<Place> parse_place(std::string_view token) {
  const std::size_t dot = token.find('.');
  if (dot == token.npos) return std::nullopt;
  const auto step = parse_number(token.substr(0, dot));
  const auto attempt = parse_number(token.substr(dot + 1));
  return step && attempt ? std::optional(Place(*step, *attempt)) : std::nullopt;
}

void list_checkpoints(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const std::int64_t limit = read_limit(query);
  const auto after = read_page_token(query, parse_place);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const auto checkpoints =
      backend.readers->read([&](scheduler::Reader& reader) -> Result<std::vector<Checkpoint>> {
        TRY(reader.job(job_id_of(request)));
        return reader.checkpoints(job_id_of(request), after.value_or(Place(-1, -1)), limit + 1);
      });
  if (!checkpoints) return responder.error(checkpoints.error());
  const auto show = [](const Checkpoint& checkpoint) { return checkpoint_to_json(checkpoint); };
  const auto token = [](const Checkpoint& last) {
    return std::to_string(last.step) + '.' + std::to_string(last.attempt);
  };
  responder.json(200, page_of(*checkpoints, limit, show, token));
}

enum class ModelFormat { safetensors, onnx };

// What is downloaded.
struct Wanted {
  Checkpoint checkpoint;
  JobSpec spec;
  ModelFormat format = ModelFormat::safetensors;
};

Result<Wanted> find_wanted(ReaderPool& readers, const JobId& id, std::string_view which) {
  return readers.read([&](scheduler::Reader& reader) -> Result<Wanted> {
    TRY_ASSIGN(Job job, reader.job(id));
    TRY_ASSIGN(const auto checkpoints, reader.checkpoints(id));
    TRY_ASSIGN(Checkpoint checkpoint,
               choose_checkpoint(checkpoints, which, job.spec.checkpoint.metric));
    return Wanted{.checkpoint = std::move(checkpoint), .spec = std::move(job.spec)};
  });
}

ModelFormat read_format(QueryReader& query) {
  const std::string format = query.text("format").value_or("safetensors");
  if (format == "onnx") return ModelFormat::onnx;
  if (format != "safetensors") {
    query.add_fault("format", "must be safetensors or onnx, got \"" + format + '"');
  }
  return ModelFormat::safetensors;
}

// Nothing where ONNX can express the model, as far as its ops go.
std::optional<Problem> not_in_onnx(const JobSpec& spec) {
  const auto faults = model::not_in_onnx(spec.model, analyse_job(spec), "/model");
  if (faults.empty()) return std::nullopt;
  Problem problem{.status = 422,
                  .code = "not_in_onnx",
                  .detail =
                      "the job's model cannot be expressed in ONNX: download it as "
                      "safetensors"};
  for (const Fault& fault : faults) {
    problem.errors.push_back({.pointer = fault.pointer, .message = fault.message});
  }
  return problem;
}

void send_model(Backend& backend, const Wanted& wanted, const Responder& responder) {
  const Checkpoint& checkpoint = wanted.checkpoint;
  const bool is_onnx = wanted.format == ModelFormat::onnx;
  const auto file = is_onnx ? backend.scheduler.onnx_file(checkpoint, wanted.spec)
                            : backend.scheduler.model_file(checkpoint);
  if (!file) return responder.error(file.error());
  const std::string name = checkpoint.job.text + "-step-" + std::to_string(checkpoint.step) +
                           (is_onnx ? ".onnx" : ".safetensors");
  responder.file({.path = file->path,
                  .content_type = "application/octet-stream",
                  .entity_tag = file->sha256,
                  .headers = {{"Content-Disposition", "attachment; filename=\"" + name + '"'}}});
}

Handler downloading(Backend& backend) {
  return [&backend](const Request& request, const Responder& responder) {
    QueryReader query(request);
    const ModelFormat format = read_format(query);
    if (const auto problem = query.problem()) return responder.problem(*problem);
    if (!responder.has_room()) return;
    auto found = find_wanted(*backend.readers, job_id_of(request), request.parameters.at("step"));
    if (!found && found.error().code == Code::invalid) {
      return responder.problem(bad_request("bad_parameter", found.error().message));
    }
    if (!found) return responder.error(found.error());
    found->format = format;
    if (format == ModelFormat::onnx) {
      if (const auto problem = not_in_onnx(found->spec)) return responder.problem(*problem);
    }
    const bool posted = backend.background.post(
        [&backend, responder, wanted = *found] { send_model(backend, wanted, responder); });
    if (!posted) responder.error(unavailable("too many model files are asked for at once"));
  };
}

}  // namespace

Result<Checkpoint> choose_checkpoint(const std::vector<Checkpoint>& checkpoints,
                                     std::string_view which, const std::string& metric) {
  if (which == "latest") {
    if (checkpoints.empty()) return not_found("the job has no committed checkpoint yet");
    return checkpoints.back();
  }
  if (which == "best") {
    std::vector<Ranked> ranked;
    for (const Checkpoint& checkpoint : checkpoints) {
      ranked.push_back(ranked_by(metric, checkpoint.step, checkpoint.metrics));
    }
    const auto best = best_step(best_of(metric), ranked);
    if (!best) return not_found("no committed checkpoint has the metric " + metric);
    return *std::ranges::find(checkpoints, *best, &Checkpoint::step);
  }
  std::int64_t step = 0;
  const auto [stop, error] = std::from_chars(which.data(), which.data() + which.size(), step);
  if (error != std::errc() || stop != which.data() + which.size() || step < 0) {
    return invalid("the step must be a number, latest or best");
  }
  const auto found = std::ranges::find(checkpoints, step, &Checkpoint::step);
  if (found == checkpoints.end()) {
    return not_found("the job has no committed checkpoint of step " + std::to_string(step));
  }
  return *found;
}

std::vector<Route> checkpoint_routes(Backend& backend) {
  return {
      {Method::get, "/v1/jobs/{id}/checkpoints", listing(backend, list_checkpoints)},
      {Method::get, "/v1/jobs/{id}/checkpoints/{step}/download", downloading(backend)},
  };
}

}  // namespace trainyard::api
