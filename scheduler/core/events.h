// What the scheduler core takes and what it gives back. The caller's contract is an order: save all of
// `save` in one transaction, then send all of `send`, then answer whoever asked.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/agent.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

// --- in ------------------------------------------------------------------------------------------------

// A new job: id, sequence, token_seed, spec, spec_json, spec_hash and times are set, the state is `queued`.
struct Submit {
  Job job;
};
enum class JobAction { cancel, suspend, resume };
struct ActOnJob {
  JobId job;
  JobAction action = JobAction::cancel;
};
// Only a terminal job: forget it. The store deletes its rows, the caller its files.
struct DeleteJob {
  JobId job;
};
struct SetCordon {
  AgentId agent;
  bool cordoned = false;
};
// A file that a task announced is whole and durable in the artifact store.
struct ArtifactStored {
  JobId job;
  std::string sha256;
};
struct Tick {};

using Event = std::variant<Submit, ActOnJob, DeleteJob, SetCordon, AgentReport, ArtifactStored, Tick>;

// --- out -----------------------------------------------------------------------------------------------

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
// Run events of one task that are new: rows keyed by (task, offset), so that a resend is harmless. Metric events
// become metric points.
struct AppendRunEvents {
  TaskKey task;
  std::vector<RunEvent> events;
};
// The attempt `attempt` resumes from step `step` (0: from the start): points of older attempts beyond it are
// kept but no longer shown, so that a curve never forks.
struct RollBackMetrics {
  JobId job;
  std::int64_t attempt = 0;
  std::int64_t step = 0;
};
struct SaveCheckpoint {
  Checkpoint checkpoint;
};
// One line of the job's timeline, for people.
struct AppendJobEvent {
  JobId job;
  std::string kind;     // "transition", "task", "checkpoint", "agent"
  std::string message;
  std::string task;     // "worker/0" or ""
  Reason reason = Reason::none;
  std::int64_t attempt = 0;
  WallTime time;
};

using Change = std::variant<SaveJob, RemoveJob, SaveTask, SaveAgent, AppendRunEvents, RollBackMetrics,
                            SaveCheckpoint, AppendJobEvent>;

// How the event itself was met: the API turns it into an HTTP answer after the save.
using Outcome = Status;

struct Step {
  Outcome outcome = ok();
  std::vector<Change> save;
  std::vector<Assignment> send;            // at most one per agent
};

// What is loaded at a start: everything that is not terminal, all agents, and the checkpoints of those jobs.
struct Saved {
  std::vector<Job> jobs;
  std::vector<TaskAttempt> tasks;          // of the current attempt of those jobs
  std::vector<AgentRecord> agents;
  std::vector<Checkpoint> checkpoints;     // pending and committed ones of those jobs
  // Of other jobs named by resume_from: committed ones only.
};

struct Limits {
  Millis stop_after{60'000};  // told to agents: how long they trust silence
  Millis lost_after{90'000};  // > stop_after + the time a kill takes + drift of the clocks
};

}  // namespace trainyard::scheduler
