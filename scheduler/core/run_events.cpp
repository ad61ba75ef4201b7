#include "scheduler/core/run_events.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "scheduler/core/checkpoints.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t metrics_max = 10'000;  // names that a job shows the newest values of

// The meaning of one event of one task. No default: a new kind of event does not compile until it
// has one.
struct Meaning {
  Turn& turn;
  LiveJob& job;
  LiveTask& task;
  WallTime time;

  // "computes on NVIDIA H100; ..." has a verb of its own.
  static bool says_where(const std::string& detail) { return detail.starts_with("computes "); }

  // The agent shows the phase as the task's state; what it says besides is for people: of one that
  // begins to train, how it reaches the parameters.
  void operator()(const PhaseEvent& phase) const {
    const bool trains = phase.phase == PhaseEvent::Phase::running;
    if (trains) task.row.routes = phase.detail;
    if (phase.detail.empty()) return;
    turn.note(job,
              {.kind = "task",
               .message = (trains && !says_where(phase.detail) ? "reaches " : "") + phase.detail,
               .task = task_name(task.row.key)});
  }
  void operator()(const ShardEvent&) const {}  // the manifest names the shards again

  void operator()(const MetricEvent& metric) const {
    if (!is_chief(job.row.spec, task.row.key)) return;
    Progress& progress = job.row.progress;
    if (metric.step > progress.step) note_progress(turn, job);
    progress.step = std::max(progress.step, metric.step);
    if (metric.max_steps > 0) progress.max_steps = metric.max_steps;
    for (const auto& [name, value] : metric.values) {
      const bool fits = progress.metrics.size() < metrics_max || progress.metrics.contains(name);
      if (fits) progress.metrics.insert_or_assign(name, value);
    }
    progress.reported_at = time;
    turn.save(job);
  }

  void operator()(const ManifestEvent& manifest) const {
    if (is_chief(job.row.spec, task.row.key)) take_manifest(turn, job, manifest);
  }

  void operator()(const PartitionEvent& event) const {
    if (!is_chief(job.row.spec, task.row.key)) return;
    turn.add(SavePartition{job.row.id, task.row.key.attempt, event.partition});
    turn.save(job);  // its explanation is shown with it
  }

  void operator()(const FailureEvent& failure) const {
    task.row.reason = reason_from(failure.reason);
    if (task.row.reason == Reason::none) task.row.reason = Reason::exit_nonzero;
    task.row.message = failure.message;
  }
};

}  // namespace

void take_run_events(Turn& turn, LiveJob& job, LiveTask& task, const TaskReport& report) {
  std::vector<RunEvent> fresh;
  for (const RunEvent& event : report.events) {
    if (event.offset >= task.row.events_end) fresh.push_back(event);
  }
  if (report.events_end <= task.row.events_end) return;
  task.row.events_end = report.events_end;
  for (const RunEvent& event : fresh) std::visit(Meaning{turn, job, task, event.time}, event.what);
  turn.save(task);
  if (!fresh.empty()) turn.add(AppendRunEvents{task.row.key, std::move(fresh)});
}

void note_progress(Turn& turn, LiveJob& job) {
  job.progress_at = turn.now.steady;
  const std::int64_t patience = job.row.spec.run_policy.no_progress_timeout_seconds;
  Deadlines& deadlines = turn.state.deadlines;
  if (patience <= 0 || deadlines.armed(job.row.id, DeadlineKind::no_progress)) return;
  deadlines.arm({turn.now.steady + seconds(patience), job.row.id, DeadlineKind::no_progress});
}

}  // namespace trainyard::scheduler
