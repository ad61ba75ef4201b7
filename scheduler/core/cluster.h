// The scheduler's core: every job that is not terminal, every agent, and one function that changes
// them. No clock, no thread, no library: `now` is an argument, and what must happen is the result.
#pragma once

#include <memory>

#include "scheduler/core/events.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/token_maker.h"

namespace trainyard::scheduler {

struct State;

class Cluster {
 public:
  // Every silence starts again at `now`: a server that was away learns anew who is alive.
  static Cluster restore(Saved saved, const Limits& limits, TokenMaker tokens, Time now);

  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  // The only way state changes. Cost grows with what the event touches, not with what exists.
  Step step(const Event& event, const Now& now);

  // Would this spec ever run, and would it run now? Changes nothing. It has faults when agents are
  // known and none of them, or not all together, could ever hold the gang.
  [[nodiscard]] Plan plan(const JobSpec& spec) const;

  // Why a job is where it is; nothing for jobs that are terminal or unknown.
  [[nodiscard]] std::optional<Explanation> explain(const JobId& id, const Now& now) const;

  [[nodiscard]] std::vector<AgentView> agents(const Now& now) const;
  [[nodiscard]] bool knows(const AgentId& id) const;

  // The core's beliefs about itself that do not hold now, as sentences; empty unless there is a
  // bug. Looks at everything: for tests.
  [[nodiscard]] std::vector<std::string> broken_beliefs() const;

 private:
  explicit Cluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::scheduler
