// The scheduler as a service: owns the one thread that steps the core, the store's one writer, the
// inbox and the agent link. Answers come by callback, on the scheduler's thread, after the save: a
// callback must be quick.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/cluster.h"
#include "scheduler/core/registrations.h"
#include "scheduler/loop/feed.h"
#include "scheduler/loop/health.h"
#include "scheduler/store/made_files.h"
#include "schemas/base/result.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

struct SchedulerOptions {
  std::string state_dir;      // trainyard.db, artifacts/, logs/
  std::string agent_address;  // "127.0.0.1:8081"; port 0 = a free one
  Limits limits = {};
  bool adopt_state = false;            // the folder's database may be another than the folder's own
  std::int64_t log_bytes_max = 0;      // of each task attempt's stored log; 0 = the default
  std::optional<Millis> job_ttl = {};  // jobs that ended longer ago are removed, with their files
  RegistrationLimits registrations = {};
  Millis silence_max{5000};  // of the scheduler's thread: it is stuck after that
};

struct NewJob {
  JobSpec spec;
  std::string spec_json;        // canonical
  std::string idempotency_key;  // "" = none
  std::string request_hash;     // of the spec: the same key with another spec is a conflict
};
struct Submitted {
  Job job;
  bool replayed = false;               // an earlier request with this key made it
  std::vector<SpecFault> faults = {};  // not empty: there is no job, for these
};
struct Planned {
  Plan plan;
  JobSpec spec;  // as submit would keep it: resume_from names a step
};

class Scheduler {
 public:
  // Opens (and migrates) the store, restores the core, listens for agents, starts the thread.
  static Result<std::unique_ptr<Scheduler>> start(SchedulerOptions options);
  ~Scheduler();  // stop()

  template <class T>
  using Done = std::function<void(Result<T>)>;

  // `unavailable` at once when the inbox is full.
  void submit(NewJob job, Done<Submitted> done);
  void act(JobId id, JobAction action, Done<Job> done);
  void remove(JobId id, Done<std::monostate> done);
  void set_cordon(AgentId id, bool cordoned, Done<AgentView> done);
  void drain(AgentId id, Done<AgentView> done);
  void forget_agent(AgentId id, Done<std::monostate> done);
  void plan(JobSpec spec, Done<Planned> done);
  void explain(JobId id, Done<std::optional<Explanation>> done);
  void agents(Done<std::vector<AgentView>> done);

  Feed& feed();
  [[nodiscard]] std::string agent_address() const;  // as bound
  [[nodiscard]] std::string database_path() const;
  [[nodiscard]] std::string log_path(const TaskKey& task) const;  // of the stored log file
  // The checkpoint as one safetensors file with all variables by name: made on first use, then kept
  // until it is found damaged.
  Result<MadeFile> model_file(const Checkpoint& checkpoint);
  // The same as one ONNX file; `spec` is that of its job. `invalid` where ONNX cannot express it.
  Result<MadeFile> onnx_file(const Checkpoint& checkpoint, const JobSpec& spec);
  [[nodiscard]] Readiness readiness() const;
  struct Counters;  // for /metrics (scheduler/loop/counters.h)
  [[nodiscard]] const Counters& counters() const;

  // Takes no more work, finishes what is in the inbox, closes the link; the database is left clean.
  void stop();

 private:
  struct Parts;
  template <class T, class Request>
  void post(Done<T> done, Request request);
  explicit Scheduler(std::unique_ptr<Parts> parts);
  static Result<MadeFile> model_file_of(Parts& parts, const Checkpoint& checkpoint,
                                        MadeFiles::Compare compare);
  static void thin_metrics(Parts& parts, const JobId& id);
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard::scheduler
