// A job as the server knows it: its spec, where it is in its life, and what its chief last said.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/base/time.h"
#include "schemas/types/job_spec.h"
#include "schemas/types/reason.h"
#include "schemas/types/task.h"

namespace trainyard {

//            gang_placed        all_running
// queued ─────────────► starting ─────────► running
//   ▲  └─────stop─────┐      └──stop──┐   ┌──stop──┘
//   │                 ▼               ▼   ▼            `goal` says where a stopping job is heading
//   └──gang_gone── stopping ──gang_gone──► succeeded | failed | cancelled | suspended
//
// and suspended ──resume──► queued.
enum class JobState {
  queued,
  starting,
  running,
  stopping,
  succeeded,
  failed,
  cancelled,
  suspended
};
inline constexpr std::array job_states{JobState::queued,    JobState::starting,  JobState::running,
                                       JobState::stopping,  JobState::succeeded, JobState::failed,
                                       JobState::cancelled, JobState::suspended};
std::string_view name_of(JobState state);
std::optional<JobState> job_state_from(std::string_view name);
constexpr bool is_terminal(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

struct Transition {
  JobState from = JobState::queued;
  JobState to = JobState::queued;
  Reason reason = Reason::none;
  std::string message;
  std::int64_t attempt = 0;
  WallTime time;
  bool operator==(const Transition&) const = default;
};

struct Restarts {
  std::int64_t user = 0;
  std::int64_t infra = 0;
  bool operator==(const Restarts&) const = default;
};

struct FirstFailure {
  std::string task;  // "worker/1"
  std::int64_t attempt = 0;
  AgentId agent;
  Reason reason = Reason::none;
  ExitStatus exit;
  std::string message;
  std::string log_tail;
  bool operator==(const FirstFailure&) const = default;
};

// What the chief last reported, of the attempt that is current.
struct Progress {
  std::int64_t step = 0;
  std::int64_t max_steps = 0;  // 0 = not known yet
  std::map<std::string, double> metrics;
  WallTime reported_at;
  bool operator==(const Progress&) const = default;
};

struct Job {
  JobId id;
  std::uint64_t sequence =
      0;  // grows with each submit: the queue's order within a priority, paging's key
  std::uint64_t token_seed = 0;  // of a job that a server of before took; else 0
  std::int64_t version = 0;  // grows by one with each change that a reader can see: ETag, long poll
  JobSpec spec;
  std::string spec_json;  // the defaulted spec as served, canonical form
  std::string spec_hash;  // sha256 of spec_json, lower-case hex
  JobState state = JobState::queued;
  JobState goal =
      JobState::running;  // where a stopping job is heading: queued, suspended or a terminal state
  Reason reason = Reason::queued;
  std::string message;
  std::int64_t attempt = 0;  // the current or last attempt; 0 before the first
  Restarts restarts;
  Progress progress;
  std::optional<FirstFailure> first_failure;
  std::optional<std::int64_t> latest_checkpoint;  // newest committed step
  std::vector<Transition> transitions;            // oldest first
  WallTime created_at;
  WallTime started_at;  // of the first attempt's first running
  WallTime finished_at;
  WallTime queued_at;   // since when it waits
  WallTime not_before;  // backoff: not placed sooner
  bool operator==(const Job&) const = default;
};

// What attempts were given before tokens were made under a key (TokenMaker): reports of those that
// still run carry it. Nothing else is let in by it, since one such token tells the others.
std::string token_of_before(const Job& job, std::int64_t attempt);

}  // namespace trainyard
