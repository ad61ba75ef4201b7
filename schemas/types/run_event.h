// What a task tells of itself, one JSON line of its events.jsonl each
// (schemas/wire/run_event_json).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/base/time.h"
#include "schemas/types/partition.h"

namespace trainyard {

// Where a task is. `running` is said once it takes part in training (a ps: once it serves).
struct PhaseEvent {
  enum class Phase { starting, running, finishing } phase = Phase::starting;
  std::string detail;
  bool operator==(const PhaseEvent&) const = default;
};

// Values at a global step, by name: loss, accuracy, test_loss, test_accuracy, examples_per_second,
// steps_per_second, learning_rate, staleness, staleness_updates_0 (types/staleness.h),
// compute_seconds, compute_gflops, speedup_in_bfloat16, dropped_contributions_worker_0... The chief
// alone reports them.
struct MetricEvent {
  std::int64_t step = 0;
  std::int64_t max_steps = 0;  // 0 = not known
  std::map<std::string, double> values;
  bool operator==(const MetricEvent&) const = default;
};

// A file of a checkpoint that is whole and durable in the task's folder.
struct ArtifactFile {
  std::string name;  // "step-1000/shard-00001-of-00002.safetensors", relative to the task's folder
  std::int64_t bytes = 0;
  std::string sha256;  // lower-case hex
  bool operator==(const ArtifactFile&) const = default;
};

// A ps has written its shard of the checkpoint of `step`: of its `version`, with so many pushes of
// each rank in it.
struct ShardEvent {
  std::int64_t step = 0;
  ArtifactFile file;
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps = {};
  bool operator==(const ShardEvent&) const = default;
};

// The chief's second phase: with all of `shards` durable, this is a checkpoint. The chief writes
// the manifest file too, and announces it here as `manifest`; the server commits when it stores all
// of them.
struct ManifestEvent {
  std::int64_t step = 0;
  ArtifactFile manifest;
  std::vector<ArtifactFile> shards;       // in the order of their first element in the arena
  std::map<std::string, double> metrics;  // of `step` and no other
  bool final_one = false;                 // the last of its attempt: the chief makes no step more
  std::optional<ArtifactFile> vocabulary{};  // of ids; written by the chief too
  bool operator==(const ManifestEvent&) const = default;
};

// How the parameters are divided, told by the chief once it has reached all who hold them.
struct PartitionEvent {
  Partition partition;
  bool operator==(const PartitionEvent&) const = default;
};

// Why the task is about to exit with an error; the last line of a failed task where it had the
// time.
struct FailureEvent {
  std::string reason;  // a name of Reason: BAD_DATA, NAN_LOSS, PEER_LOST, ...
  std::string message;
  bool operator==(const FailureEvent&) const = default;
};

struct RunEvent {
  WallTime time;
  std::int64_t offset =
      0;  // of the line's first byte in events.jsonl: (task attempt, offset) names the event
  std::variant<PhaseEvent, MetricEvent, ShardEvent, ManifestEvent, PartitionEvent, FailureEvent>
      what;
  bool operator==(const RunEvent&) const = default;
};

}  // namespace trainyard
