// A host in the simulation: the real agent core, a shell around it, and processes that take their
// time to die.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/core/agent.h"
#include "tests/sim/clock.h"
#include "tests/sim/journal.h"
#include "tests/sim/process.h"

namespace trainyard::sim {

class Host {
 public:
  struct World {
    Clock& clock;
    Random& random;
    Journal& journal;
    std::function<void(const AgentReport&)> send_report;
    std::function<void(const AgentId&, const JobId&, const std::string& sha256)> send_file;
    std::function<bool()> is_refused;  // the server's address says that nobody is there
    std::function<void(Host&, const Process&)> on_process_start;
    std::function<void(Process&, const Now&)> live;
  };
  Host(World world, HostInfo info, agent::AgentOptions options);

  void start();  // of the agent: a new epoch
  void crash();  // of the agent; its processes die with it
  static constexpr Millis farewell_max{5000};
  void leave();  // as on SIGTERM: the processes are ended, the agent tells of it and ends too
  [[nodiscard]] bool is_up() const { return agent_ != nullptr; }

  void take(const Assignment& assignment);
  void take_file_stored(const std::string& sha256);

  // Nothing is left of any task.
  [[nodiscard]] bool is_idle() const { return processes_.empty() && told_to_save_.empty(); }
  [[nodiscard]] const AgentId& id() const { return options_.id; }
  [[nodiscard]] std::string name() const { return id().text + "/" + options_.instance; }
  [[nodiscard]] const HostInfo& info() const { return options_.host; }
  [[nodiscard]] std::map<TaskKey, Process>& processes() { return processes_; }

 private:
  [[nodiscard]] Now now() const;
  void apply(const agent::AgentEvent& event);
  void perform(const agent::StartTask& action);
  void perform(const agent::RestartTask& action);
  void perform(const agent::DeliverOutput& action);
  void perform(const agent::StopTask& action);
  void perform(const agent::SaveTask& action);
  void perform(const agent::ForgetTask& action);
  void perform(const agent::ReportSoon& action);

  void launch(const WantedTask& wanted);
  void relaunch(const TaskKey& key);
  void begin(const TaskKey& key);
  void live(const TaskKey& key);
  void die(const TaskKey& key, ExitStatus exit);
  void after_death(const TaskKey& key);
  void read_events(const TaskKey& key);
  void deliver(const TaskKey& key);

  void tick();
  void heartbeat();
  void report();
  void upload();

  // Later, if this start of the agent still lives then.
  void later(Millis wait, std::function<void()> what);

  World world_;
  agent::AgentOptions options_;
  std::unique_ptr<agent::Agent> agent_;
  std::set<TaskKey> told_to_save_;        // as files in the tasks' folders
  std::map<TaskKey, Process> processes_;  // living, and gone ones until the agent forgets them
  bool report_is_due_ = false;
  Millis clock_offset_;  // the agent's steady clock has its own zero point
};

}  // namespace trainyard::sim
