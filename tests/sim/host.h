// A host in the simulation: the real agent core, a shell around it, and the machine they are on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/core/agent.h"
#include "tests/sim/clock.h"
#include "tests/sim/journal.h"
#include "tests/sim/machine.h"
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
    std::function<void(const Process&)> on_process_found;  // by a new start, alive
    std::function<void(Host&)> on_process_end;
    std::function<void(Process&, const Now&)> live;
  };
  Host(World world, HostInfo info, agent::AgentOptions options, const ShellFences& fences);

  void start();       // of the agent: a new epoch, with the tasks that it finds
  void kill_agent();  // the agent alone; its processes live on
  void crash();       // of the machine; nothing of agent and processes is left
  static constexpr Millis farewell_max{5000};
  void leave();  // as on SIGTERM: the processes are ended, the agent tells of it and ends too
  [[nodiscard]] bool is_up() const { return agent_ != nullptr; }

  void take(const Assignment& assignment);
  void take_file_stored(const std::string& sha256);

  // As its user says at the next start. Tasks that have the old ports cannot stay.
  void change_ports();

  // Nothing is left of any task.
  [[nodiscard]] bool is_idle() const { return machine_.is_clear(); }
  [[nodiscard]] const AgentId& id() const { return options_.id; }
  [[nodiscard]] std::string name() const { return id().text + "/" + options_.instance; }
  [[nodiscard]] const HostInfo& info() const { return options_.host; }
  [[nodiscard]] std::map<TaskKey, Process>& processes() { return machine_.processes(); }

 private:
  [[nodiscard]] Now now() const { return machine_.now(); }
  [[nodiscard]] Now clocks() const { return {world_.clock.now(), world_.clock.wall()}; }
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
  void fail_to_start(const TaskKey& key, Reason reason);
  void begin(Process process);
  void find_tasks();
  void take_end(const TaskKey& key);
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
  Machine machine_;
  bool report_is_due_ = false;
  bool is_leaving_ = false;
  int other_last_port_ = 0;
};

}  // namespace trainyard::sim
