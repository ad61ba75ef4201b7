// Everything a runtime process is told: the content of task.json (schemas/wire/task_json). The
// runtime knows of no server and asks nobody for addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/types/data_cache_spec.h"
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

// A file of this name in the chief's folder is the order to save a checkpoint and then to make no
// more progress (StopOrder::save).
inline constexpr const char* save_order_file = "save";

struct TaskContext {
  TaskKey key;
  std::string token;  // of the attempt: peers refuse messages that carry another
  std::string spec_hash;
  JobSpec spec;
  ClusterSpec cluster;
  std::string listen;   // "10.0.0.1:20001": only of a task that listens
  int stream_port = 0;  // of the same host, for stream sockets; 0 = a free one
  std::string folder;   // the task's own: events.jsonl and checkpoint files go here
  std::optional<RestoreFrom> restore;
  bool keep_files =
      false;  // by hand: no agent deletes old checkpoint files, the chief's retention does
  // An agent starts a task again that died by itself (see returns_alone): its peers go on without
  // it, or wait for it.
  bool tasks_return = false;
  DataCacheSpec data_cache;  // of this host
  bool operator==(const TaskContext&) const = default;
};

// The exit code of a task that ends because its disk is full: it may be unable to write so.
inline constexpr int exit_no_space = 28;  // as errno's ENOSPC

// The chief is worker/0, unless the job has a chief of its own.
inline Role role_of_chief(const JobSpec& spec) { return spec.chief ? Role::chief : Role::worker; }
inline bool is_chief(const JobSpec& spec, const TaskKey& task) {
  return task.role == role_of_chief(spec) && task.index == 0;
}
inline bool is_chief(const TaskContext& context) { return is_chief(context.spec, context.key); }

// Whether tasks of the role begin with the parameters, and so with the files of a checkpoint that
// is restored. The others, the chief too, get what they need from these.
inline bool holds_parameters(const JobSpec& spec, Role role) {
  return role == Role::ps || spec.training.strategy != Strategy::parameter_server;
}

// Whether tasks of the role serve parameters to others: then they listen, on two ports.
inline bool listens(const JobSpec& spec, Role role) {
  if (role == Role::ps) return true;
  return role != Role::evaluator && spec.training.strategy == Strategy::all_reduce;
}

// Rows of it are learned in place, and their gradients go ahead of a push.
inline bool has_embedding_table(const JobSpec& spec) { return spec.model.name == "wide_and_deep"; }

// Whether a task that died can be started again beside its living gang. With a worker nothing is
// lost but the batch that it had in hand. A ps of async goes on from its own newest shard: what was
// pushed since is lost on it, and counted; in sync it would be torn from the others. A chief takes
// along what it was about to report and to save, a worker whose gradients are sent as one bit what
// these have not said yet: in sync the step would no longer be exact.
inline bool returns_alone(const JobSpec& spec, const TaskKey& task) {
  const bool async = step_mode(spec) == Mode::async;
  const bool keeps_residuals = spec.training.wire.push == Wire::onebit;
  if (spec.training.strategy != Strategy::parameter_server) return false;
  if (task.role == Role::ps) return async && !keeps_residuals && !has_embedding_table(spec);
  return task.role == Role::worker && !is_chief(spec, task) && (async || !keeps_residuals);
}

// Whether the gang is to wait for tasks of the role that are gone, the chief never among them.
inline bool comes_back(const TaskContext& context, Role role) {
  TaskKey task = context.key;
  task.role = role;
  task.index = 1;  // one that is not the chief
  return context.tasks_return && context.spec.run_policy.max_restarts > 0 &&
         returns_alone(context.spec, task);
}

// Position among all that compute gradients, which is the order of summation: the chief first where
// it is a task of its own, then workers by index.
inline std::int64_t training_rank(const TaskContext& context) {
  if (context.key.role == Role::chief) return 0;
  return context.key.index + (context.spec.chief ? 1 : 0);
}

}  // namespace trainyard
