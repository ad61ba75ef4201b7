#include "scheduler/core/cluster.h"

#include <string>
#include <utility>

#include "scheduler/core/checkpoints.h"
#include "scheduler/core/explainer.h"
#include "scheduler/core/gangs.h"
#include "scheduler/core/invariants.h"
#include "scheduler/core/lifecycle.h"
#include "scheduler/core/liveness.h"
#include "scheduler/core/report.h"
#include "scheduler/core/restore.h"
#include "scheduler/core/user_actions.h"

namespace trainyard::scheduler {
namespace {

// What each kind of event is handed to.
struct Route {
  Turn& turn;

  Outcome operator()(const Submit& event) const { return submit(turn, event); }
  Outcome operator()(const ActOnJob& event) const { return act(turn, event); }
  Outcome operator()(const DeleteJob& event) const { return remove(turn, event); }
  Outcome operator()(const SetCordon& event) const { return cordon(turn, event); }
  Outcome operator()(const DrainAgent& event) const { return drain(turn, event); }
  Outcome operator()(const ForgetAgent& event) const { return forget(turn, event); }
  Outcome operator()(const AgentReport& event) const {
    take_report(turn, event);
    return ok();
  }
  Outcome operator()(const ArtifactStored& event) const {
    take_artifact(turn, event);
    return ok();
  }
  Outcome operator()(const ArtifactLost& event) const {
    lose_artifact(turn, event);
    return ok();
  }
  Outcome operator()(const Tick&) const {
    watch(turn);
    return ok();
  }
};

}  // namespace

Cluster Cluster::restore(Saved saved, const Limits& limits, TokenMaker tokens, Time now) {
  return Cluster(
      std::make_unique<State>(restore_state(std::move(saved), limits, std::move(tokens), now)));
}

Cluster::Cluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

Step Cluster::step(const Event& event, const Now& now) {
  Turn turn(*state_, now);
  wake(turn);
  Outcome outcome = std::visit(Route{turn}, event);
  place_gangs(turn);
  return turn.finish(std::move(outcome));
}

Plan Cluster::plan(const JobSpec& spec) const { return plan_for(*state_, spec); }

std::optional<Explanation> Cluster::explain(const JobId& id, const Now& now) const {
  const LiveJob* const job = state_->job(id);
  if (job == nullptr) return std::nullopt;
  return explain_job(*state_, *job, now);
}

bool Cluster::knows(const AgentId& id) const { return state_->agents.contains(id); }

std::vector<AgentView> Cluster::agents(const Now& now) const {
  std::vector<AgentView> views;
  for (const auto& [id, agent] : state_->agents) {
    AgentView view{agent.record,
                   agent.record.host.capacity - agent.free,
                   {},
                   now.steady - agent.heard_at,
                   agent.readings};
    for (const TaskKey& key : agent.tasks)
      view.tasks.emplace_back(key, state_->task(key)->row.gpus);
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<std::string> Cluster::broken_beliefs() const { return broken_beliefs_of(*state_); }

}  // namespace trainyard::scheduler
