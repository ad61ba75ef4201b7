// A job as the server shows it, of which the client shows a part.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/base/time.h"
#include "schemas/types/job.h"

namespace trainyard::client {

// A state that a watcher need not wait behind: terminal, or suspended until a person resumes it.
constexpr bool is_at_rest(JobState state) {
  return is_terminal(state) || state == JobState::suspended;
}

struct StateChange {
  JobState to = JobState::queued;
  std::string reason;
  std::string message;
  std::int64_t attempt = 0;
  WallTime time = {};
  bool operator==(const StateChange&) const = default;
};

struct JobView {
  std::string id;
  std::string name;
  std::int64_t version = 0;
  JobState state = JobState::queued;
  std::optional<JobState> goal;  // of a job that is stopping: where to
  std::string reason;
  std::string message;
  std::vector<StateChange> changes;  // oldest first
  std::int64_t attempt = 0;
  std::int64_t step = 0;
  std::int64_t max_steps = 0;  // 0 = not known yet
  double progress = 0;         // 0..1
  std::optional<double> eta_seconds;
  std::optional<double> loss;
  std::optional<double> examples_per_second;
  std::map<std::string, double> metrics;
  std::optional<std::int64_t> latest_checkpoint;
  // By task: where it computes, and how it reaches the parameters.
  std::map<std::string, std::string> routes;
  std::string
      failure;  // of the first task that failed: "worker/1 on host-a: SIGNALLED …"; "" = none
  bool failure_is_said = false;  // `message` has all that `failure` would say
  std::int64_t failure_attempt = 0;
  std::string failure_log;
  WallTime created_at;
  WallTime started_at;
  WallTime finished_at;

  [[nodiscard]] std::optional<double> metric(const std::string& metric_name) const;
  [[nodiscard]] bool at_rest() const { return is_at_rest(state); }
};

// `internal` when it has no id or a state unknown to this client.
Result<JobView> parse_job(const nlohmann::json& job);

}  // namespace trainyard::client
