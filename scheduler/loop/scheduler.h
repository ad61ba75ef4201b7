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
#include "scheduler/loop/feed.h"
#include "schemas/base/result.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

struct SchedulerOptions {
  std::string state_dir;      // trainyard.db, artifacts/, logs/
  std::string agent_address;  // "127.0.0.1:8081"; port 0 = a free one
  Limits limits;
};

struct NewJob {
  JobSpec spec;
  std::string spec_json;        // canonical
  std::string idempotency_key;  // "" = none
  std::string request_hash;     // sha256 of the body: the same key with another body is a conflict
};
struct Submitted {
  Job job;
  bool replayed = false;  // an earlier request with this key made it
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
  void plan(JobSpec spec, Done<Plan> done);
  void explain(JobId id, Done<std::optional<Explanation>> done);
  void agents(Done<std::vector<AgentView>> done);

  Feed& feed();
  [[nodiscard]] std::string agent_address() const;  // as bound
  [[nodiscard]] std::string database_path() const;
  [[nodiscard]] std::string log_path(const TaskKey& task) const;  // of the stored log file
  // The checkpoint as one safetensors file with all variables by name: made on first use, then
  // kept.
  Result<std::string> model_file(const Checkpoint& checkpoint);
  [[nodiscard]] bool ready() const;  // the thread runs and its last save succeeded
  struct Counters;                   // for /metrics (scheduler/loop/counters.h)
  [[nodiscard]] const Counters& counters() const;

  // Takes no more work, finishes what is in the inbox, closes the link; the database is left clean.
  void stop();

 private:
  struct Parts;
  template <class T, class Request>
  void post(Done<T> done, Request request);
  explicit Scheduler(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace trainyard::scheduler
