#include "scheduler/core/failure.h"

#include <string>

#include "scheduler/core/retry.h"

namespace trainyard::scheduler {
namespace {

std::string exit_words(const ExitStatus& exit) {
  if (exit.code) return " (exit code " + std::to_string(*exit.code) + ")";
  if (exit.signal) return " (signal " + std::to_string(*exit.signal) + ")";
  return "";
}

// Ended because it was told to: a consequence, never a cause.
bool is_consequence(const TaskEnd& end) { return end.cause.reason == Reason::stopped_with_gang; }

FirstFailure failure_of(const LiveTask& task, const TaskEnd& end) {
  return {task_name(task.row.key), task.row.key.attempt, task.row.agent, end.cause.reason, end.exit,
          end.cause.message,       end.log_tail};
}

bool explains_more(const LiveJob& job, const TaskEnd& end) {
  const auto& known = job.row.first_failure;
  return known && known->attempt == job.row.attempt && known->reason == Reason::peer_lost &&
         end.cause.reason != Reason::peer_lost;
}

}  // namespace

Verdict verdict_on(const Job& job, const Cause& failure) {
  if (may_restart(job, failure.reason)) return {JobState::queued, failure};
  const bool infra = account_of(failure.reason) == Account::infra;
  const std::int64_t restarts = infra ? job.restarts.infra : job.restarts.user;
  if (is_final(job.spec, failure.reason) || restarts == 0) return {JobState::failed, failure};
  return {JobState::failed,
          {Reason::restarts_exhausted,
           failure.message + ", after " + std::to_string(restarts) + " restarts"}};
}

void note_failure(Turn& turn, LiveJob& job, const LiveTask& task, const TaskEnd& end) {
  if (is_consequence(end)) return;
  const std::string name = task_name(task.row.key);
  std::string message = name + " on " + task.row.agent.text + ": " +
                        std::string(name_of(end.cause.reason)) + exit_words(end.exit);
  if (!end.cause.message.empty()) message += ": " + end.cause.message;
  turn.note(job, {"task", message, name, end.cause.reason});

  const Verdict verdict = verdict_on(job.row, {end.cause.reason, message});
  if (job.row.state != JobState::stopping) {
    job.row.first_failure = failure_of(task, end);
    stop_job(turn, job, verdict.goal, verdict.cause);
  } else if (explains_more(job, end)) {
    job.row.first_failure = failure_of(task, end);
    turn.save(job);
    if (job.row.goal != JobState::queued && job.row.goal != JobState::failed) return;
    job.row.goal = verdict.goal;
    job.row.reason = verdict.cause.reason;
    job.row.message = verdict.cause.message;
  }
}

void count_restart(LiveJob& job) {
  const Verdict verdict = verdict_on(job.row, {job.row.reason, job.row.message});
  job.row.goal = verdict.goal;
  job.row.reason = verdict.cause.reason;
  job.row.message = verdict.cause.message;
  if (verdict.goal != JobState::queued) return;
  const bool infra = account_of(verdict.cause.reason) == Account::infra;
  ++(infra ? job.row.restarts.infra : job.row.restarts.user);
}

}  // namespace trainyard::scheduler
