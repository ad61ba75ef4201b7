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
#include "schemas/types/product_rates.h"
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
  ArtifactFile manifest;             // names relative to `folder`
  std::vector<ArtifactFile> shards;  // and behind them the vocabulary where there is one
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
  std::string listen;  // "10.0.0.1:20001": only of a task that listens
  int rows_port = 0;   // of the same host, for the rows of an embedding table; 0 = a free one
  std::string folder;  // the task's own: events.jsonl and checkpoint files go here
  std::optional<RestoreFrom> restore;
  bool keep_files =
      false;  // by hand: no agent deletes old checkpoint files, the chief's retention does
  // An agent starts a worker again that died by itself (see returns_alone): the others of its gang
  // may wait for it.
  bool tasks_return = false;
  DataCacheSpec data_cache;  // of this host
  // Of its GPUs, where all are of one kind and their agent has measured it.
  ProductRates gpu_product_rates = {};
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

// Whether tasks of the role serve parameters to others. Then they have two ports, of which the
// second is listened on only where the model has an embedding table.
inline bool listens(const JobSpec& spec, Role role) {
  if (role == Role::ps) return true;
  return role != Role::evaluator && spec.training.strategy == Strategy::all_reduce;
}

// Whether a task that died can be started again beside its living gang: a worker of a job with ps,
// which computes its gradient once more. A chief had also to report and to save. The residual of a
// onebit push is lost with its worker: without it a sync step would no longer be exact. Parameters
// are lost with who holds them.
inline bool returns_alone(const JobSpec& spec, const TaskKey& task) {
  const bool loses_residual =
      spec.training.wire.push == Wire::onebit && step_mode(spec) == Mode::sync;
  return spec.training.strategy == Strategy::parameter_server && task.role == Role::worker &&
         !is_chief(spec, task) && !loses_residual && spec.run_policy.max_restarts > 0;
}

// Whether workers that are gone, the chief not among them, come back to this gang.
inline bool workers_come_back(const TaskContext& context) {
  const TaskKey no_chief{context.key.job, context.key.attempt, Role::worker, 1};
  return context.tasks_return && returns_alone(context.spec, no_chief);
}

// Position among all that compute gradients, which is the order of summation: the chief first where
// it is a task of its own, then workers by index.
inline std::int64_t training_rank(const TaskContext& context) {
  if (context.key.role == Role::chief) return 0;
  return context.key.index + (context.spec.chief ? 1 : 0);
}

}  // namespace trainyard
