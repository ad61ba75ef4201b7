// The agent's folder, which holds all that it keeps:
//   lock                                          held while an agent lives: one agent per folder
//   epoch                                         how often an agent started here
//   instance                                      a random name, made with the folder
//   lease                                         until when its tasks may run without it
//   server                                        that it speaks with
//   gpu-rates.json                                how fast its kinds of GPUs make products
//   tasks/<job>/<attempt>/<role>-<index>/         one task: task.json, task.log, events.jsonl, what
//                                                 was wanted, its processes (agent/process)
//   tasks/<job>/<attempt>/restore/                the checkpoint that the attempt's tasks start
//   from
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/files/file.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

class Workdir {
 public:
  // Takes the lock (conflict: another agent has it) and counts the epoch up. `path` is made where
  // it does not exist.
  static Result<Workdir> open(const std::string& path);

  // Of earlier starts of this agent.
  [[nodiscard]] std::vector<std::string> task_folders() const;
  // Ends the processes of earlier tasks but for those of `kept`, and removes their folders.
  [[nodiscard]] Status end_leftovers(const std::set<TaskKey>& kept) const;

  // Grows at each start. A new folder begins at the seconds since 1970, so that a host whose folder
  // was wiped is not taken for its own past; from then on the file alone counts, and the clock may
  // do what it likes.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }

  // Tells this folder's agent from any other that was given its name by mistake.
  [[nodiscard]] const std::string& instance() const { return instance_; }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string gpu_rates_file() const { return path_ + "/gpu-rates.json"; }
  [[nodiscard]] std::string lease_file() const { return lease_file_of(path_); }
  static std::string lease_file_of(const std::string& work_dir) { return work_dir + "/lease"; }

  // Refuses a job id that would not stay below tasks/.
  [[nodiscard]] Result<std::string> make_task_folder(const TaskKey& key) const;
  [[nodiscard]] std::string task_folder(const TaskKey& key) const;
  [[nodiscard]] std::string restore_folder(const TaskKey& key) const;

  // Whether an earlier start had the same server; this one's is written down.
  [[nodiscard]] Result<bool> has_same_server(const std::string& server) const;

  // Removes the task's folder, and with the last of its attempt what they shared.
  void remove_task_folder(const TaskKey& key) const;

 private:
  Workdir(std::string path, File lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  [[nodiscard]] Result<std::int64_t> count_epoch() const;
  [[nodiscard]] Result<std::string> find_instance() const;
  [[nodiscard]] std::string attempt_folder(const TaskKey& key) const;

  std::string path_;  // absolute
  File lock_;
  std::int64_t epoch_ = 0;
  std::string instance_;
};

}  // namespace trainyard::agent
