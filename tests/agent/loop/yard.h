// A running daemon for one test, with a work folder of its own and shell scripts as its runtime
// program.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "agent/loop/daemon.h"
#include "tests/agent/loop/server_double.h"
#include "tests/support/temp_folder.h"

namespace trainyard::agent {

class Yard {
 public:
  // `script` is what each task runs, in its folder, with the path of its task.json as $1. The
  // functions event, phase, shard and manifest are there for it.
  explicit Yard(const std::string& script, std::int64_t log_bytes_max = log_bytes_max_default);
  ~Yard();  // stops the daemon

  // Where tasks may read data from the next start on; nowhere else.
  void set_data_roots(std::vector<std::string> roots) { data_roots_ = std::move(roots); }

  void start();
  void stop();  // returns once the daemon has ended

  // A file in a folder of the test's own.
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string task_folder(const TaskKey& key) const;

  ServerDouble server;

 private:
  TempFolder folder_;
  std::vector<std::string> data_roots_;
  std::int64_t log_bytes_max_;
  std::unique_ptr<Daemon> daemon_;
  std::thread thread_;
};

// Writing run events in shell; $1 of shard and manifest is a step.
inline constexpr const char* script_prelude = R"sh(#!/bin/sh
event() { echo "{\"time\":\"2026-11-20T19:40:00.000Z\",$1}" >> events.jsonl; }
phase() { event "\"kind\":\"phase\",\"phase\":\"$1\",\"detail\":\"\""; }
metric() { event "\"kind\":\"metric\",\"step\":$1,\"max_steps\":100,\"values\":{\"loss\":0.5}"; }
file_json() {
  hash=$(sha256sum < "$1" | cut -d' ' -f1)
  echo "{\"name\":\"$1\",\"bytes\":$(stat -c %s "$1"),\"sha256\":\"$hash\"}"
}
shard() {
  mkdir -p "step-$1" && printf '%s' "$2" > "step-$1/shard.safetensors"
  event "\"kind\":\"shard\",\"step\":$1,\"file\":$(file_json "step-$1/shard.safetensors")"
}
)sh";

// A task of a valid job, ready to be wanted.
WantedTask a_wanted_task(const std::string& job, Role role = Role::worker);

inline bool is_running_state(const TaskReport& task) { return task.state == TaskState::running; }

}  // namespace trainyard::agent
