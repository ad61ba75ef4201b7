// Handlers of /v1/models, /v1/models/{name} and /v1/jobs/{id}/model.
#include "api/routes/models.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/routes/paging.h"
#include "api/routes/query_reader.h"
#include "api/routes/spec_faults.h"
#include "schemas/wire/job_model.h"
#include "schemas/wire/json_text.h"
#include "schemas/wire/model_analysis_json.h"
#include "schemas/wire/model_json.h"

namespace trainyard::api {
namespace {

void list_models(Backend&, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const std::int64_t limit = read_limit(query);
  const auto parse = [](const std::string& token) {
    const auto number = parse_number(token);
    return number && *number < std::ssize(model::zoo()) ? number : std::nullopt;
  };
  const std::int64_t first = read_page_token(query, parse).value_or(0);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const std::span<const model::ZooModel> zoo = model::zoo();
  const std::int64_t end = std::min<std::int64_t>(std::ssize(zoo), first + limit);
  nlohmann::ordered_json items = nlohmann::ordered_json::array();
  for (std::int64_t i = first; i < end; ++i) {
    items.push_back(model::zoo_model_to_json(zoo[static_cast<std::size_t>(i)]));
  }
  nlohmann::ordered_json next = end < std::ssize(zoo) ? nlohmann::ordered_json(std::to_string(end))
                                                      : nlohmann::ordered_json(nullptr);
  responder.json(200, to_ordered_text({{"items", std::move(items)}, {"next_page_token", next}}));
}

// A model of the zoo whose data set is not known: every field and every fact may be there.
model::Facts any_facts() {
  model::Facts facts;
  facts.fields_are_known = false;
  facts.classes = model::unknown_size;
  facts.symbols = model::unknown_size;
  facts.vocabulary = model::unknown_size;
  facts.features = model::unknown_size;
  return facts;
}

// Its arguments are a job's, each as a parameter of the query: "?depth=3&hidden=[64,32]". What is
// no JSON is a text.
nlohmann::json value_of(const std::string& text) {
  const ParsedJson parsed = parse_json_text(text);
  const auto* const document = std::get_if<JsonDocument>(&parsed);
  return document != nullptr && document->faults.empty() ? document->value : nlohmann::json(text);
}

nlohmann::json read_call(const Request& request, QueryReader& query) {
  nlohmann::json call = nlohmann::json::object();
  for (const auto& [argument, text] : request.query) {
    query.texts(argument);  // known: what the model does not have, it says itself
    if (call.contains(argument)) query.add_fault(argument, "is given twice");
    if (argument == "name") query.add_fault(argument, "is the path's");
    call[argument] = value_of(text);
  }
  call["name"] = request.parameters.at("name");
  return call;
}

void show_model(Backend&, const Request& request, const Responder& responder) {
  const std::string& name = request.parameters.at("name");
  const model::ZooModel* const zoo_model = model::find_zoo_model(name);
  if (zoo_model == nullptr) {
    const std::string where = ": GET /v1/models lists those there are";
    return responder.error(not_found("there is no model " + name + where));
  }
  QueryReader query(request);
  const nlohmann::json call = read_call(request, query);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  std::vector<Fault> faults;
  const auto written = model::parse_model(call, "", faults);
  model::Model shown;
  if (written) {
    shown = model::make_zoo_model(std::get<model::ZooCall>(*written), any_facts(), "", faults);
  }
  // What an initialiser's numbers may be, only the layers know.
  if (faults.empty()) {
    faults = model::analyse(*written, any_facts(),
                            {.pointer = "", .worker_memory_mb = {}, .ps_memory_mb = {}})
                 .faults;
  }
  if (!faults.empty()) return responder.problem(problem_of_faults(faults, "the model"));
  nlohmann::ordered_json answer = model::zoo_model_to_json(*zoo_model);
  answer["model"] = model::model_to_json(shown);
  responder.json(200, to_ordered_text(answer));
}

void show_job_model(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  const auto job = backend.readers->read(
      [&](scheduler::Reader& reader) { return reader.job(job_id_of(request)); });
  if (!job) return responder.error(job.error());
  responder.json(200, to_ordered_text(model::analysis_to_json(analyse_job(job->spec))));
}

}  // namespace

std::vector<Route> model_routes(Backend& backend) {
  return {
      {Method::get, "/v1/models", with(backend, list_models)},
      {Method::get, "/v1/models/{name}", with(backend, show_model)},
      {Method::get, "/v1/jobs/{id}/model", with(backend, show_job_model)},
  };
}

}  // namespace trainyard::api
