// The life of a job as one table: which event leads from which state to which. What an event means
// for tasks and agents is lifecycle.cpp's; that an impossible one is impossible is said here.
//
//            gang_placed        all_running
// queued ─────────────► starting ─────────► running
//   ▲  └─────stop─────┐      └──stop──┐   ┌──stop──┘
//   │                 ▼               ▼   ▼
//   └──gang_gone── stopping ──gang_gone──► succeeded | failed | cancelled | suspended
//                     ▲───────────stop──────────────────────────────────────┘  └──resume──► queued
#pragma once

#include <array>
#include <optional>

#include "schemas/types/job.h"

namespace trainyard::scheduler {

enum class JobEvent {
  gang_placed,  // every task of the gang has its agent
  all_running,  // every task takes part in training
  stop,         // for whatever reason, towards a goal
  gang_gone,    // every agent has shown that the gang's tasks are gone
  resume,       // the user wants a suspended job back
};

// Where a stopping job may be heading.
constexpr bool is_goal(JobState state) {
  return state == JobState::queued || state == JobState::suspended || is_terminal(state);
}

struct JobMove {
  JobState from;
  JobEvent event;
  JobState to;
};

// gang_gone is not listed: it leads from `stopping` to the goal.
inline constexpr std::array<JobMove, 7> job_moves{{
    {JobState::queued, JobEvent::gang_placed, JobState::starting},
    {JobState::queued, JobEvent::stop, JobState::stopping},
    {JobState::starting, JobEvent::all_running, JobState::running},
    {JobState::starting, JobEvent::stop, JobState::stopping},
    {JobState::running, JobEvent::stop, JobState::stopping},
    {JobState::suspended, JobEvent::stop, JobState::stopping},
    {JobState::suspended, JobEvent::resume, JobState::queued},
}};

// nullopt: it cannot happen.
constexpr std::optional<JobState> next(JobState from, JobEvent event, JobState goal) {
  if (from == JobState::stopping && event == JobEvent::gang_gone && is_goal(goal)) return goal;
  for (const JobMove& move : job_moves) {
    if (move.from == from && move.event == event) return move.to;
  }
  return std::nullopt;
}

}  // namespace trainyard::scheduler
