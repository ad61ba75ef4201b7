#include "scheduler/core/turn.h"

#include <utility>

#include "scheduler/core/assign.h"
#include "scheduler/core/checkpoints.h"

namespace trainyard::scheduler {

void Turn::rewant(LiveAgent& agent) {
  if (!rewanted_.insert(agent.record.id).second) return;
  ++agent.record.generation;
  if (state.limits.fences.saved_generation == Fence::kept) save(agent);
}

void Turn::forget(const LiveAgent& agent) {
  const AgentId id = agent.record.id;
  agents_.erase(id);
  rewanted_.erase(id);
  answered_.erase(id);
  add(RemoveAgent{id});
  state.agents.erase(id);
}

void Turn::note(const LiveJob& job, Note note) {
  add(AppendJobEvent{job.row.id, std::move(note.kind), std::move(note.message),
                     std::move(note.task), note.reason, job.row.attempt, now.wall, note.state});
}

Step Turn::finish(Outcome outcome) {
  Step step{std::move(outcome), {}, {}, std::move(refused_)};
  save_rows(step);
  send_assignments(step);
  forget_terminal_jobs();
  return step;
}

void Turn::save_rows(Step& step) {
  for (const AgentId& id : agents_) step.save.emplace_back(SaveAgent{state.agents.at(id).record});
  for (const JobId& id : jobs_) {
    Job& row = state.jobs.at(id).row;
    ++row.version;
    step.save.emplace_back(SaveJob{row});
  }
  for (auto& [key, row] : tasks_) step.save.emplace_back(SaveTask{std::move(row)});
  for (Change& change : others_) step.save.push_back(std::move(change));
}

void Turn::send_assignments(Step& step) {
  answered_.merge(rewanted_);
  for (const AgentId& id : answered_) {
    step.send.push_back(assignment_for(state, state.agents.at(id)));
  }
}

void Turn::forget_terminal_jobs() {
  for (const JobId& id : jobs_) {
    const LiveJob& job = state.jobs.at(id);
    if (!is_terminal(job.row.state)) continue;
    const auto source = resume_source_of(job.row.spec);
    state.queue.erase(job.row);
    state.deadlines.disarm_all(id);
    state.jobs.erase(id);
    if (source) release_resume_source(state, *source);
  }
}

}  // namespace trainyard::scheduler
