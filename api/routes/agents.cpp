// Handlers of /v1/agents.
#include "api/routes/agents.h"

#include <utility>

#include "api/routes/render.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

using scheduler::AgentView;

void list_agents(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  backend.scheduler.agents([responder](const Result<std::vector<AgentView>>& agents) {
    if (!agents) return responder.error(agents.error());
    nlohmann::json items = nlohmann::json::array();
    for (const AgentView& agent : *agents) items.push_back(agent_to_json(agent));
    responder.json(200, to_text(page_to_json(std::move(items), std::nullopt)));
  });
}

enum class Cordon { set, lift };

Handler cordoning(Backend& backend, Cordon cordon) {
  return [&backend, cordon](const Request& request, const Responder& responder) {
    if (!has_no_query(request, responder)) return;
    backend.scheduler.set_cordon(AgentId(request.parameters.at("id")), cordon == Cordon::set,
                                 [responder](const Result<AgentView>& agent) {
                                   if (!agent) return responder.error(agent.error());
                                   responder.json(200, to_text(agent_to_json(*agent)));
                                 });
  };
}

void drain_agent(Backend&, const Request&, const Responder& responder) {
  responder.problem({.status = 501,
                     .code = "not_available",
                     .detail = "drain is not available in this version yet; cordon is"});
}

}  // namespace

std::vector<Route> agent_routes(Backend& backend) {
  return {
      {Method::get, "/v1/agents", with(backend, list_agents)},
      {Method::post, "/v1/agents/{id}/cordon", cordoning(backend, Cordon::set)},
      {Method::post, "/v1/agents/{id}/uncordon", cordoning(backend, Cordon::lift)},
      {Method::post, "/v1/agents/{id}/drain", with(backend, drain_agent)},
  };
}

}  // namespace trainyard::api
