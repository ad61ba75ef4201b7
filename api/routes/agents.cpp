// Handlers of /v1/agents.
#include "api/routes/agents.h"

#include <utility>

#include "api/routes/paging.h"
#include "api/routes/render.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

using scheduler::AgentView;

// By id, behind `after`, one more than `limit`: they are in memory, and only what is shown becomes
// JSON.
std::vector<AgentView> part_of(const std::vector<AgentView>& agents, const std::string& after,
                               std::int64_t limit) {
  std::vector<AgentView> part;
  for (const AgentView& agent : agents) {
    if (agent.record.id.text > after && std::ssize(part) <= limit) part.push_back(agent);
  }
  return part;
}

void list_agents(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const std::int64_t limit = read_limit(query);
  const auto parse = [](const std::string& token) {
    return is_id(token) ? std::optional(token) : std::nullopt;
  };
  const std::string after = read_page_token(query, parse).value_or("");
  if (const auto problem = query.problem()) return responder.problem(*problem);
  using Agents = std::vector<AgentView>;
  const auto answer = [responder, limit, after](const Result<Agents>& agents) {
    if (!agents) return responder.error(agents.error());
    if (!responder.has_room()) return;
    const auto token = [](const AgentView& last) { return last.record.id.text; };
    responder.json(200, page_of(part_of(*agents, after, limit), limit, agent_to_json, token));
  };
  backend.scheduler.agents(rendered<Agents>(backend, answer));
}

auto agent_answer(const Responder& responder) {
  return [responder](const Result<AgentView>& agent) {
    if (!agent) return responder.error(agent.error());
    responder.json(200, to_text(agent_to_json(*agent)));
  };
}

enum class Cordon { set, lift };

Handler cordoning(Backend& backend, Cordon cordon) {
  return [&backend, cordon](const Request& request, const Responder& responder) {
    if (!has_no_query(request, responder)) return;
    backend.scheduler.set_cordon(AgentId(request.parameters.at("id")), cordon == Cordon::set,
                                 rendered<AgentView>(backend, agent_answer(responder)));
  };
}

void delete_agent(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  backend.scheduler.forget_agent(AgentId(request.parameters.at("id")),
                                 [responder](const Status& removed) {
                                   if (!removed) return responder.error(removed.error());
                                   responder.send({.status = 204, .content_type = ""});
                                 });
}

void drain_agent(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  backend.scheduler.drain(AgentId(request.parameters.at("id")),
                          rendered<AgentView>(backend, agent_answer(responder)));
}

}  // namespace

std::vector<Route> agent_routes(Backend& backend) {
  return {
      {Method::get, "/v1/agents", listing(backend, list_agents)},
      {Method::del, "/v1/agents/{id}", with(backend, delete_agent)},
      {Method::post, "/v1/agents/{id}/cordon", cordoning(backend, Cordon::set)},
      {Method::post, "/v1/agents/{id}/uncordon", cordoning(backend, Cordon::lift)},
      {Method::post, "/v1/agents/{id}/drain", with(backend, drain_agent)},
  };
}

}  // namespace trainyard::api
