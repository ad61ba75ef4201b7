#include "scheduler/core/user_actions.h"

#include <algorithm>
#include <set>
#include <string>

#include "scheduler/core/checkpoints.h"
#include "scheduler/core/gangs.h"
#include "scheduler/core/lifecycle.h"
#include "scheduler/core/liveness.h"
#include "scheduler/core/obstacles.h"

namespace trainyard::scheduler {
namespace {

// The checkpoint that the spec names, kept from now on; nothing when it names none.
Status keep_resume_source(Turn& turn, const Submit& event) {
  const auto named = resume_source_of(event.job.spec);
  if (!named) return ok();
  const auto& [id, step] = *named;
  const LiveJob* const source = turn.state.job(id);
  if (source != nullptr && source->committed.contains(step)) {
    turn.state.resume_sources.insert_or_assign(*named, source->committed.at(step));
    return ok();
  }
  const auto& given = event.resume_from;
  if (given && given->job == id && given->step == step &&
      given->state == CheckpointState::committed) {
    turn.state.resume_sources.insert_or_assign(*named, *given);
    return ok();
  }
  return no_such_checkpoint(*named);
}

Error refusal(const LiveJob& job, const char* action) {
  std::string where(name_of(job.row.state));
  if (job.row.state == JobState::stopping)
    where += ", on its way to " + std::string(name_of(job.row.goal));
  return conflict("job " + job.row.id.text + " cannot be " + action + ": it is " + where);
}

Outcome cancel(Turn& turn, LiveJob& job) {
  const bool stopping = job.row.state == JobState::stopping;
  if (stopping && job.row.goal == JobState::failed) return refusal(job, "cancelled");
  stop_job(turn, job, JobState::cancelled, {Reason::user_cancelled, "cancelled by the user"});
  return ok();
}

Outcome suspend(Turn& turn, LiveJob& job) {
  if (job.row.state == JobState::suspended) return ok();
  const bool stopping = job.row.state == JobState::stopping;
  if (stopping && is_terminal(job.row.goal)) return refusal(job, "suspended");
  suspend_job(turn, job);
  return ok();
}

Outcome resume(Turn& turn, LiveJob& job) {
  const bool stopping = job.row.state == JobState::stopping;
  if (stopping && is_terminal(job.row.goal)) return refusal(job, "resumed");
  const JobState heading = stopping ? job.row.goal : job.row.state;
  if (heading == JobState::suspended) resume_job(turn, job);
  return ok();
}

}  // namespace

Outcome submit(Turn& turn, const Submit& event) {
  if (turn.state.job(event.job.id) != nullptr) {
    return conflict("job " + event.job.id.text + " exists already");
  }
  const auto known = empty_hosts(turn.state, Agents::known);
  const auto words = obstacles_in_words(event.job.spec, known, Asked::known);
  if (!words.empty()) return invalid(words);
  TRY(keep_resume_source(turn, event));
  LiveJob& job = turn.state.jobs[event.job.id];
  job.row = event.job;
  turn.note(job, {.kind = "transition", .message = "queued: submitted", .state = JobState::queued});
  enqueue(turn, job, Millis{0});
  return ok();
}

Outcome act(Turn& turn, const ActOnJob& event) {
  LiveJob* const job = turn.state.job(event.job);
  if (job == nullptr) return not_found("job " + event.job.text + " is not alive");
  switch (event.action) {
    case JobAction::cancel: return cancel(turn, *job);
    case JobAction::suspend: return suspend(turn, *job);
    case JobAction::resume: break;
  }
  return resume(turn, *job);
}

Outcome remove(Turn& turn, const DeleteJob& event) {
  if (const LiveJob* const job = turn.state.job(event.job)) return refusal(*job, "deleted");
  for (const auto& [id, job] : turn.state.jobs) {
    const auto source = resume_source_of(job.row.spec);
    if (source && source->first == event.job) {
      return conflict("job " + event.job.text + " cannot be deleted: job " + id.text +
                      " is to resume from its checkpoint");
    }
  }
  turn.add(RemoveJob{event.job});
  return ok();
}

Outcome cordon(Turn& turn, const SetCordon& event) {
  LiveAgent* const agent = turn.state.agent(event.agent);
  if (agent == nullptr) return not_found("agent " + event.agent.text + " is not known");
  set_cordon(turn, *agent, event.cordoned);
  return ok();
}

Outcome drain(Turn& turn, const DrainAgent& event) {
  LiveAgent* const agent = turn.state.agent(event.agent);
  if (agent == nullptr) return not_found("agent " + event.agent.text + " is not known");
  set_cordon(turn, *agent, true);
  std::set<JobId> jobs;
  for (const TaskKey& key : agent->tasks) jobs.insert(key.job);
  for (const JobId& id : jobs) move_job(turn, *turn.state.job(id), event.agent);
  settle(turn, *agent);
  return ok();
}

Outcome forget(Turn& turn, const ForgetAgent& event) {
  const LiveAgent* const agent = turn.state.agent(event.agent);
  if (agent == nullptr) return not_found("agent " + event.agent.text + " is not known");
  if (agent->record.state != AgentState::down || !agent->tasks.empty()) {
    const bool leaves = agent->record.state == AgentState::down;
    return conflict("agent " + event.agent.text + " cannot be deleted: it " +
                    (leaves ? "still has tasks"
                            : "is " + std::string(name_of(agent->record.state)) +
                                  ", and only one that is down can; stop it and wait until it is"));
  }
  turn.forget(*agent);
  return ok();
}

}  // namespace trainyard::scheduler
