// The agent's core: what the server wants, what there is, and what to do about the difference.
// No clock, no process, no network in it: `now` is an argument, actions are the result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/agent_events.h"
#include "agent/core/lease.h"
#include "agent/core/task.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

// The fences of ARCHITECTURE.md section 5 that stand on the agent's side. All are kept; only
// tests/sim removes one at a time, to prove that the simulation notices.
enum class Fence { kept, removed };
struct Fences {
  Fence generation = Fence::kept;  // an older assignment never undoes a newer one
  Fence epoch = Fence::kept;  // an assignment to an earlier start of this agent is not for this one
  Fence lease = Fence::kept;  // tasks end when the server has been silent for too long
  Fence told_first = Fence::kept;  // no task goes on in a new process before this start was told
                                   // which are wanted
};

struct AgentOptions {
  AgentId id;
  std::string instance;
  std::int64_t epoch = 0;  // larger than at any earlier start of this agent
  HostInfo host;
  Fences fences = {};
  // That an earlier start has left to the tasks which this one finds; else one begins now.
  std::optional<Lease> lease = {};
};

class Agent {
 public:
  Agent(AgentOptions options, Time now);

  // Events of tasks that are not known are ignored: their task has been forgotten.
  std::vector<Action> step(const AgentEvent& event, const Now& now);

  // The whole state, as the next report; takes a report number. Run events are cut to a bounded
  // size (report_bytes_max), oldest first; the task that had no room is the first in the next.
  AgentReport next_report();

  [[nodiscard]] bool has_tasks() const { return !tasks_.empty(); }

  // For whoever ends the tasks when this agent is gone.
  [[nodiscard]] const Lease& lease() const { return lease_; }

 private:
  struct Moment;  // one step in progress: the time, and the actions so far

  void take(const AssignmentArrived& event, Moment& moment);
  void take(const ReportSent& event, Moment& moment);
  void take(const Leaving& event, Moment& moment);
  void take(const ConnectionRefused& event, Moment& moment);
  void take(const TaskFound& event, Moment& moment);
  void take(const TaskStarted& event, Moment& moment);
  void take(const TaskStartFailed& event, Moment& moment);
  void take(const TaskExited& event, Moment& moment);
  void take(const RunEventsRead& event, Moment& moment);
  void take(const TaskOutputDelivered& event, Moment& moment);
  void take(const GpusRead& event, Moment& moment);
  void take(const Tick& event, Moment& moment);

  void apply(const Assignment& assignment, Moment& moment);
  void want(const WantedTask& wanted, Moment& moment);
  void obey(HostedTask& task, StopOrder order, Moment& moment);
  void ask_to_stop(HostedTask& task, Moment& moment);
  void kill(HostedTask& task, Moment& moment);
  [[nodiscard]] bool may_return(const HostedTask& task, const TaskExited& event, Time now) const;
  void take_held_exits(Moment& moment);
  void forget_if_done(const TaskKey& key, Moment& moment);
  [[nodiscard]] bool lease_has_expired(Time now) const;
  [[nodiscard]] bool is_of_task_on(int slot, const GpuUser& user) const;
  [[nodiscard]] std::vector<GpuProcess> strangers_among(const std::vector<GpuUser>& users,
                                                        int slot) const;
  [[nodiscard]] std::optional<int> slot_of(const GpusRead::Gpu& gpu) const;  // nothing: of none

  AgentOptions options_;
  Lease lease_;
  bool leaving_ = false;
  std::int64_t generation_ = 0;   // newest applied
  std::int64_t last_number_ = 0;  // of the newest report
  std::map<TaskKey, HostedTask> tasks_;
  std::vector<TaskExited> held_exits_;  // before the first assignment, of tasks that may return
  std::vector<GpuReading> gpus_;        // the newest of each
  std::optional<TaskKey> cut_short_;    // the first that the last report had no room for
  bool left_some_out_ = false;          // the last report did not show all that there was
};

}  // namespace trainyard::agent
