// Everything a runtime process is told: the content of task.json (schemas/wire/task_json). The
// runtime knows of no server and asks nobody for addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/types/job_spec.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"

namespace trainyard {

// "host:port" of every task of the gang, by role, position = index. `worker` may hold addresses
// that nobody listens on: workers only call.
struct ClusterSpec {
  std::vector<std::string> ps;
  std::vector<std::string> worker;
  std::vector<std::string> chief;
  std::vector<std::string> evaluator;
  bool operator==(const ClusterSpec&) const = default;
};

// A committed checkpoint whose files lie under `folder` on this host.
struct RestoreFrom {
  std::string folder;
  std::int64_t step = 0;
  ArtifactFile manifest;  // names relative to `folder`
  std::vector<ArtifactFile> shards;
  bool operator==(const RestoreFrom&) const = default;
};

struct TaskContext {
  TaskKey key;
  std::string token;  // of the attempt: peers refuse messages that carry another
  std::string spec_hash;
  JobSpec spec;
  ClusterSpec cluster;
  std::string listen;  // "0.0.0.0:20001": ps only
  std::string folder;  // the task's own: events.jsonl and checkpoint files go here
  std::optional<RestoreFrom> restore;
  bool keep_files =
      false;  // by hand: no agent deletes old checkpoint files, the chief's retention does
  bool operator==(const TaskContext&) const = default;
};

// worker/0, unless the job has a chief of its own.
inline bool is_chief(const TaskContext& context) {
  return context.key.role == Role::chief ||
         (context.key.role == Role::worker && context.key.index == 0 && !context.spec.chief);
}

// Position among all that compute gradients, which is the order of summation: the chief first where
// it is a task of its own, then workers by index.
inline std::int64_t training_rank(const TaskContext& context) {
  if (context.key.role == Role::chief) return 0;
  return context.key.index + (context.spec.chief ? 1 : 0);
}

}  // namespace trainyard
