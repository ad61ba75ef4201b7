// What the scheduler core takes and what it gives back. The caller's contract is an order: save all
// of `save` in one transaction, then send all of `send`, then answer whoever asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/fences.h"
#include "schemas/base/result.h"
#include "schemas/types/agent.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/job.h"
#include "schemas/types/partition.h"

namespace trainyard::scheduler {

// --- in ---------------------------------------------------------------------------

// A new job: id, sequence, spec, spec_json, spec_hash and times are set, the state is
// `queued`. `resume_from` is the committed checkpoint that the spec's resume_from "<job>/<step>"
// names, where the caller can read it; without it only checkpoints of jobs that are not terminal
// are found. Outcomes: conflict (the id exists), invalid (could never fit; no such checkpoint).
struct Submit {
  Job job;
  std::optional<Checkpoint> resume_from = std::nullopt;
};
enum class JobAction { cancel, suspend, resume };
// Outcomes: conflict (the state does not allow it); not_found for a job that is terminal or does
// not exist: the core keeps neither, the caller's rows tell which.
struct ActOnJob {
  JobId job;
  JobAction action = JobAction::cancel;
};
// Only a terminal job: forget it. The store deletes its rows, the caller its files. Outcome:
// conflict while the job lives, or while a job that lives is to resume from one of its checkpoints.
struct DeleteJob {
  JobId job;
};
struct SetCordon {
  AgentId agent;
  bool cordoned = false;
};
// It is given nothing more, and the gangs that have tasks there begin again elsewhere: each saves
// first, as it would before a suspension. Undone by SetCordon, but for the gangs.
struct DrainAgent {
  AgentId agent;
};
// Only an agent that is down: forget it. Outcomes: not_found; conflict in any other state.
struct ForgetAgent {
  AgentId agent;
};
// A file that a task announced is whole and durable in the artifact store. Harmless to repeat: the
// caller posts it again at a start, and whenever a pending checkpoint is saved, for every file that
// is already there, so that a file whose first word was lost with the old process still counts.
struct ArtifactStored {
  JobId job;
  std::string sha256;
};
// A file that was stored is gone, or its content was damaged: no checkpoint that names it can be
// restored. Harmless to repeat.
struct ArtifactLost {
  JobId job;
  std::string sha256;
};
struct Tick {};

using Event = std::variant<Submit, ActOnJob, DeleteJob, SetCordon, DrainAgent, ForgetAgent,
                           AgentReport, ArtifactStored, ArtifactLost, Tick>;

// --- out --------------------------------------------------------------------------

struct SaveJob {
  Job job;  // the whole row, version already raised
};
struct RemoveJob {
  JobId job;
};
struct SaveTask {
  TaskAttempt task;
};
struct SaveAgent {
  AgentRecord agent;
};
struct RemoveAgent {
  AgentId agent;
};
// Run events of one task that are new: rows keyed by (task, offset), so that a resend is harmless.
// Metric events become metric points.
struct AppendRunEvents {
  TaskKey task;
  std::vector<RunEvent> events;
};
// The attempt `attempt` resumes from step `step` (0: from the start): points of older attempts
// beyond it are kept but no longer shown, so that a curve never forks.
struct RollBackMetrics {
  JobId job;
  std::int64_t attempt = 0;
  std::int64_t step = 0;
};
struct SaveCheckpoint {
  Checkpoint checkpoint;
};
// How the chief of `attempt` says that the job's parameters are divided.
struct SavePartition {
  JobId job;
  std::int64_t attempt = 0;
  Partition partition;
};
// One line of the job's timeline, for people.
struct AppendJobEvent {
  JobId job;
  std::string kind;  // "transition", "task", "checkpoint", "agent"
  std::string message;
  std::string task;  // "worker/0" or ""
  Reason reason = Reason::none;
  std::int64_t attempt = 0;
  WallTime time;
  std::optional<JobState> state = {};  // of a transition: what the job became
};

using Change = std::variant<SaveJob, RemoveJob, SaveTask, SaveAgent, RemoveAgent, AppendRunEvents,
                            RollBackMetrics, SaveCheckpoint, SavePartition, AppendJobEvent>;

// How the event itself was met: the API turns it into an HTTP answer after the save.
using Outcome = Status;

struct Step {
  Outcome outcome = ok();
  std::vector<Change> save;
  std::vector<Assignment> send;  // at most one per agent
  std::vector<Refusal> refuse;
};

// What is loaded at a start: everything that is not terminal, all agents, and the checkpoints of
// those jobs.
struct Saved {
  std::vector<Job> jobs;
  std::vector<TaskAttempt> tasks;  // of the current attempt of those jobs
  std::vector<AgentRecord> agents;
  std::vector<Checkpoint> checkpoints;  // pending and committed ones of those jobs
  // Of other jobs named by resume_from: committed ones only.
};

struct Limits {
  Millis stop_after{60'000};    // told to agents: how long they trust silence
  Millis lost_after{90'000};    // > stop_after + the time a kill takes + drift of the clocks
  Millis silent_after{10'000};  // some missed heartbeats: shown as disconnected, takes nothing new
  std::int64_t agents_max = 1000;  // known at once, those that are down included
  Fences fences;
};

}  // namespace trainyard::scheduler
