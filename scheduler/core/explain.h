// Answers for people: where a gang would land, why a job waits, who occupies a host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/agent.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

struct PlannedTask {
  std::string task;  // "ps/0"
  AgentId agent;
  std::vector<int> gpus;
};

// What is in the way of a job for good, and in which part of its spec.
struct SpecFault {
  std::string pointer;  // RFC 6901: "/scheduling/host_labels/zone"
  std::string message;
  bool operator==(const SpecFault&) const = default;
};

struct Plan {
  bool placeable_now = false;
  std::vector<PlannedTask> tasks;  // empty unless placeable_now
  std::string message;
  std::vector<SpecFault> faults;  // what it is refused for
};

// What one host lacks for the first task of the gang that does not fit there.
struct HostShortage {
  AgentId agent;
  AgentState state = AgentState::ready;
  Resources capacity;
  Resources free;
  Resources missing;  // for the largest task of the gang; all zero when one task would fit
  std::int64_t tasks_that_fit = 0;
  std::string message;  // "needs 1 more cpu", "cordoned", "lacks the label gpu=a100"
};

struct Explanation {
  JobId job;
  JobState state = JobState::queued;
  Reason reason = Reason::none;
  std::string message;
  std::optional<std::int64_t> queue_position;  // 1 = next
  std::optional<std::int64_t> queue_length;
  WallTime not_before;  // backoff
  std::vector<HostShortage> hosts;
  // Running jobs whose end, oldest first, would let the gang in; of the next in the queue alone,
  // since of the others those before it are placed first.
  std::vector<JobId> would_free_enough;
};

struct AgentView {
  AgentRecord record;
  Resources used;
  std::vector<std::pair<TaskKey, std::vector<int>>> tasks;  // who is there, with GPU slots
  Millis silence;                                           // since the last report
  std::vector<GpuReading> gpus = {};  // what they show now; nothing of an agent that is silent
};

}  // namespace trainyard::scheduler
