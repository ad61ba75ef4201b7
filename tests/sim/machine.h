// The machine of a host in the simulation: processes that take their time to die, what lies in the
// tasks' folders, and the small parent of each process (its shim) that ends it when the lease is
// over. All of it outlives the agent, and nothing of it a reboot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "agent/core/agent.h"
#include "tests/sim/clock.h"
#include "tests/sim/journal.h"
#include "tests/sim/process.h"

namespace trainyard::sim {

// The fences that stand in the agent's shell. All are kept there; fence_test removes them here.
struct ShellFences {
  agent::Fence lease_left = agent::Fence::kept;  // to a new start is that of the tasks it finds
  agent::Fence shim = agent::Fence::kept;        // ends its task when the lease is over
};

// A process may outlive its SIGKILL for so long: the kernel is busy.
inline constexpr Millis kill_takes_max{1500};

class Machine {
 public:
  struct World {
    Clock& clock;
    Random& random;
    Journal& journal;
    std::function<void(Process&, const Now&)> live;
  };
  // What the agent hears, if there is one.
  struct Listener {
    std::function<void(const TaskKey&)> on_written;
    std::function<void(const TaskKey&)> on_end;
  };
  Machine(World world, Listener listener, const ShellFences& fences);

  // Every process ends, and nothing of it is kept.
  void reboot();
  [[nodiscard]] Now now() const;

  void launch(Process process);
  void signal(const TaskKey& key, agent::StopSignal signal);
  void order_to_save(const TaskKey& key);
  // The folder is removed, and with it what is known of the process.
  void forget(const TaskKey& key);

  // The file that the shims look at.
  void write_lease(const agent::Lease& lease);
  [[nodiscard]] std::optional<agent::Lease> lease_left() const;

  // A new start of the agent has none of what the earlier one knew of them; removes the folders of
  // tasks that have had no process.
  void begin_anew();

  // Living ones, and gone ones until they are forgotten.
  [[nodiscard]] std::map<TaskKey, Process>& processes() { return processes_; }
  [[nodiscard]] bool is_to_save(const TaskKey& key) const { return told_to_save_.contains(key); }
  [[nodiscard]] bool is_clear() const { return processes_.empty() && told_to_save_.empty(); }

 private:
  enum class Because { of_itself, of_lease };

  // The process that was launched as `pid`, if it lives.
  Process* living(const TaskKey& key, std::int64_t pid);
  void live(const TaskKey& key, std::int64_t pid);
  void look_at_lease(const TaskKey& key, std::int64_t pid);
  void die_soon(const Process& process, ExitStatus exit, Because because);

  // Later, unless it is rebooted before.
  void later(Millis wait, std::function<void()> what);

  World world_;
  const Listener listener_;
  const ShellFences fences_;
  std::map<TaskKey, Process> processes_;
  std::set<TaskKey> told_to_save_;     // as files in the tasks' folders
  std::optional<agent::Lease> lease_;  // its end, as the agent wrote it last
  Millis clock_offset_;                // the steady clock has its own zero point
  std::int64_t boot_ = 0;
};

}  // namespace trainyard::sim
