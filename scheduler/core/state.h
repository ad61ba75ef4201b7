// What the scheduler core knows: every job that is not terminal, with the tasks of its current
// attempt, and every agent. Plain values; the functions that change them take a Turn (turn.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/deadlines.h"
#include "scheduler/core/events.h"
#include "scheduler/core/place.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/token_maker.h"

namespace trainyard::scheduler {

struct LiveTask {
  TaskAttempt row;
  std::string token;  // that its agent shows
  // Of its agent, when it was placed: a report that has applied this generation must show the task.
  std::int64_t generation = 0;
};

struct LiveJob {
  Job row;
  std::vector<LiveTask> tasks;        // of the current attempt, in order of key; empty while queued
  std::string token;                  // that tasks of the current attempt show one another
  ClusterSpec addresses;              // of the current attempt
  std::optional<Checkpoint> restore;  // what the current attempt started from
  std::map<std::int64_t, Checkpoint> committed;  // by step
  std::map<std::int64_t, Checkpoint> pending;    // by step
  std::deque<std::string> stored;  // sha256 of files that came before their manifest; bounded
  Time progress_at;                // last sign of progress of the attempt

  [[nodiscard]] LiveTask* find(const TaskKey& key);
  [[nodiscard]] const LiveTask* find(const TaskKey& key) const;
};

struct LiveAgent {
  AgentRecord record;
  Resources free;
  std::set<int> free_gpus;           // slot numbers; of no task
  std::vector<GpuInfo> cards;        // one for each slot, in order of its number
  std::vector<GpuReading> readings;  // of the newest report, by index; in memory alone
  std::set<int> taken_ports;
  std::int64_t assignment_bytes = 0;  // of the jobs of `tasks`
  int next_port = 0;                  // where the search for a free port goes on
  std::map<int, Time> shunned_ports;  // another program held them; until then
  std::set<TaskKey> tasks;            // that are not gone
  Time heard_at;                      // or the start of the server: every silence starts again then
  bool heard = false;                 // since the server started
  bool leaves = false;                // its newest report says so
  bool has_strays = false;       // shows processes that the server does not know: takes nothing new
  bool has_old_slots = false;    // so it does while its tasks have what it no longer offers
  std::int64_t last_number = 0;  // newest report of the epoch
};

struct State {
  Limits limits;
  TokenMaker tokens;
  std::map<JobId, LiveJob> jobs;
  std::map<AgentId, LiveAgent> agents;
  std::map<std::pair<JobId, std::int64_t>, Checkpoint>
      resume_sources;  // named by resume_from, of other jobs
  Queue queue;
  Deadlines deadlines;
  bool place_now = false;  // something changed that may let a gang in
  bool awake = false;      // the first step after a restore has set the deadlines

  [[nodiscard]] LiveJob* job(const JobId& id);
  [[nodiscard]] LiveAgent* agent(const AgentId& id);
  [[nodiscard]] LiveTask* task(const TaskKey& key);  // of the current attempt of a live job
};

// `when_empty`: when all tasks have ended, not so what others run on its GPUs; `whole`: all that it
// has.
enum class Room { now, when_empty, whole };
Host host_of(const LiveAgent& agent, Room room);

// May be given a task now.
bool takes_tasks(const LiveAgent& agent);
// Will take tasks, perhaps when others have ended: what a job may wait for.
bool is_expected(const LiveAgent& agent);

// Everything back: the agent has no task.
void clear_slots(LiveAgent& agent);
// Takes the GPU slots that the task names, and a port, two for a task that listens, which are
// written into the task.
void occupy(LiveAgent& agent, const JobSpec& spec, TaskAttempt& task, Time now);
// Takes exactly what the row says, after a restart.
void occupy_again(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task);
void vacate(LiveAgent& agent, const JobSpec& spec, const TaskAttempt& task);

// Another program holds one of the task's ports, which one is not known: both are left alone for a
// while, if there are others.
inline constexpr Millis port_shunned_for{300'000};
void shun_ports(LiveAgent& agent, const TaskAttempt& task, Time now);

bool all_gone(const LiveJob& job);

// The job is stopping, and its tasks have yet to be asked to: the chief saves what they have first.
bool is_saving(const LiveJob& job);

}  // namespace trainyard::scheduler
