// A running daemon for one test, with a work folder of its own and shell scripts as its runtime
// program.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "agent/loop/daemon.h"
#include "tests/agent/loop/server_double.h"
#include "tests/process/scratch_folder.h"

namespace trainyard::agent {

class Yard {
 public:
  // `script` is what each task runs, in its folder, with the path of its task.json as $1. The
  // functions event, phase, shard and manifest are there for it.
  explicit Yard(const std::string& script);
  ~Yard();  // stops the daemon

  void start();
  void stop();  // returns once the daemon has ended

  // A file in a folder of the test's own.
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::string task_folder(const TaskKey& key) const;

  ServerDouble server;

 private:
  ScratchFolder folder_;
  std::unique_ptr<Daemon> daemon_;
  std::thread thread_;
};

// A task of a valid job, ready to be wanted.
WantedTask a_wanted_task(const std::string& job, Role role = Role::worker);

inline bool is_running_state(const TaskReport& task) { return task.state == TaskState::running; }

}  // namespace trainyard::agent
