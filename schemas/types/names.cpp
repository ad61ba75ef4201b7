#include "schemas/types/names.h"

#include <cstdio>

#include "schemas/types/agent.h"
#include "schemas/types/job.h"
#include "schemas/types/reason.h"
#include "schemas/types/task.h"

namespace trainyard {
namespace {

struct ReasonRow {
  Reason reason;
  std::string_view name;
  ReasonClass reason_class;
};

constexpr std::array<ReasonRow, 35> reasons{{
    {Reason::none, "", ReasonClass::none},
    {Reason::queued, "QUEUED", ReasonClass::sched},
    {Reason::no_capacity, "NO_CAPACITY", ReasonClass::sched},
    {Reason::no_agents, "NO_AGENTS", ReasonClass::sched},
    {Reason::backing_off, "BACKING_OFF", ReasonClass::sched},
    {Reason::preempted, "PREEMPTED", ReasonClass::sched},
    {Reason::gang_placed, "GANG_PLACED", ReasonClass::sched},
    {Reason::gang_running, "GANG_RUNNING", ReasonClass::sched},
    {Reason::exit_nonzero, "EXIT_NONZERO", ReasonClass::user},
    {Reason::bad_data, "BAD_DATA", ReasonClass::user},
    {Reason::checkpoint_mismatch, "CHECKPOINT_MISMATCH", ReasonClass::user},
    {Reason::nan_loss, "NAN_LOSS", ReasonClass::user},
    {Reason::oom_killed, "OOM_KILLED", ReasonClass::user},
    {Reason::user_cancelled, "USER_CANCELLED", ReasonClass::user},
    {Reason::user_suspended, "USER_SUSPENDED", ReasonClass::user},
    {Reason::user_resumed, "USER_RESUMED", ReasonClass::user},
    {Reason::agent_drained, "AGENT_DRAINED", ReasonClass::user},
    {Reason::queue_timeout, "QUEUE_TIMEOUT", ReasonClass::policy},
    {Reason::run_timeout, "RUN_TIMEOUT", ReasonClass::policy},
    {Reason::no_progress, "NO_PROGRESS", ReasonClass::policy},
    {Reason::restarts_exhausted, "RESTARTS_EXHAUSTED", ReasonClass::policy},
    {Reason::signalled, "SIGNALLED", ReasonClass::infra},
    {Reason::agent_lost, "AGENT_LOST", ReasonClass::infra},
    {Reason::agent_restarted, "AGENT_RESTARTED", ReasonClass::infra},
    {Reason::agent_stopped, "AGENT_STOPPED", ReasonClass::infra},
    {Reason::start_failed, "START_FAILED", ReasonClass::infra},
    {Reason::peer_lost, "PEER_LOST", ReasonClass::infra},
    {Reason::checkpoint_lost, "CHECKPOINT_LOST", ReasonClass::infra},
    {Reason::checkpoint_failed, "CHECKPOINT_FAILED", ReasonClass::infra},
    {Reason::port_in_use, "PORT_IN_USE", ReasonClass::infra},
    {Reason::no_space, "NO_SPACE", ReasonClass::infra},
    {Reason::no_gpu, "NO_GPU", ReasonClass::infra},
    {Reason::peer_differs, "PEER_DIFFERS", ReasonClass::infra},
    {Reason::completed, "COMPLETED", ReasonClass::none},
    {Reason::stopped_with_gang, "STOPPED_WITH_GANG", ReasonClass::none},
}};

constexpr NameTable<Role, 4> roles{{{Role::ps, "ps"},
                                    {Role::worker, "worker"},
                                    {Role::chief, "chief"},
                                    {Role::evaluator, "evaluator"}}};
constexpr NameTable<TaskState, 8> task_states{{{TaskState::assigned, "assigned"},
                                               {TaskState::starting, "starting"},
                                               {TaskState::running, "running"},
                                               {TaskState::stopping, "stopping"},
                                               {TaskState::succeeded, "succeeded"},
                                               {TaskState::failed, "failed"},
                                               {TaskState::killed, "killed"},
                                               {TaskState::lost, "lost"}}};
constexpr NameTable<JobState, 8> job_state_names{{{JobState::queued, "queued"},
                                                  {JobState::starting, "starting"},
                                                  {JobState::running, "running"},
                                                  {JobState::stopping, "stopping"},
                                                  {JobState::succeeded, "succeeded"},
                                                  {JobState::failed, "failed"},
                                                  {JobState::cancelled, "cancelled"},
                                                  {JobState::suspended, "suspended"}}};
constexpr NameTable<AgentState, 5> agent_states{{{AgentState::ready, "ready"},
                                                 {AgentState::cordoned, "cordoned"},
                                                 {AgentState::draining, "draining"},
                                                 {AgentState::disconnected, "disconnected"},
                                                 {AgentState::down, "down"}}};

// splitmix64 (Steele, Lea, Flood 2014): spreads the bits of its argument.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

std::string_view name_of(Reason reason) {
  for (const ReasonRow& row : reasons) {
    if (row.reason == reason) return row.name;
  }
  return "";
}

ReasonClass class_of(Reason reason) {
  for (const ReasonRow& row : reasons) {
    if (row.reason == reason) return row.reason_class;
  }
  return ReasonClass::none;
}

Reason reason_from(std::string_view name) {
  for (const ReasonRow& row : reasons) {
    if (row.name == name) return row.reason;
  }
  return Reason::none;
}

std::string_view name_of(ReasonClass reason_class) {
  switch (reason_class) {
    case ReasonClass::none: return "";
    case ReasonClass::user: return "USER";
    case ReasonClass::infra: return "INFRA";
    case ReasonClass::sched: return "SCHED";
    case ReasonClass::policy: return "POLICY";
  }
  return "";
}

std::string_view name_of(Role role) { return find_name(roles, role); }
std::optional<Role> role_from(std::string_view name) { return find_value(roles, name); }
std::string_view name_of(TaskState state) { return find_name(task_states, state); }
std::optional<TaskState> task_state_from(std::string_view name) {
  return find_value(task_states, name);
}
std::string_view name_of(JobState state) { return find_name(job_state_names, state); }
std::optional<JobState> job_state_from(std::string_view name) {
  return find_value(job_state_names, name);
}
std::string_view name_of(AgentState state) { return find_name(agent_states, state); }
std::optional<AgentState> agent_state_from(std::string_view name) {
  return find_value(agent_states, name);
}

std::string task_name(const TaskKey& key) {
  return std::string(name_of(key.role)) + "/" + std::to_string(key.index);
}

std::string to_string(const TaskKey& key) {
  return key.job.text + "/" + std::to_string(key.attempt) + "/" + task_name(key);
}

std::string token_of_before(const Job& job, std::int64_t attempt) {
  const std::uint64_t secret = mix(job.token_seed ^ mix(static_cast<std::uint64_t>(attempt)));
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(secret));
  return job.id.text + "." + std::to_string(attempt) + "." + hex;
}

}  // namespace trainyard
