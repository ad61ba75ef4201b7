// A job by hand: real processes of trainyard-runtime, one folder each, ports from the OS, no
// server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/task_context.h"
#include "tests/runtime/role/child.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime::test {

// A small classification job: 1 ps, 2 workers, sync, adam, 60 steps, a checkpoint every 20.
JobSpec small_job();

class Job {
 public:
  explicit Job(JobSpec spec, std::optional<RestoreFrom> restore = std::nullopt);

  // Steps take the first so many contributions: the other workers are backup workers, which start
  // when the chief trains. They could have made all steps by then.
  Job& aggregate(std::int64_t contributions);
  // Tasks that die are started again, as by an agent: their peers wait for them.
  Job& with_returns();
  // Checkpoints are an agent's to deliver and to take away. There is none that does.
  Job& without_delivery();
  void start();  // ps first, to learn their ports, then the workers
  Child& task(const std::string& name) { return children_.at(name); }  // "worker/0"

  // Asks all tasks to stop; their exit codes.
  std::map<std::string, int> stop_all();

  // Exit codes of all tasks by name.
  std::map<std::string, int> wait_all();
  [[nodiscard]] std::string folder(const std::string& task) const;
  [[nodiscard]] std::vector<RunEvent> events(const std::string& task) const;

  // The newest committed checkpoint, its files gathered in one folder, as an agent would hand it
  // on.
  [[nodiscard]] std::optional<RestoreFrom> newest_checkpoint() const;

  // The weights of the final checkpoint as one array, whatever the number of shards.
  [[nodiscard]] std::vector<float> final_weights() const;

 private:
  Child launch(Role role, std::int64_t index);
  [[nodiscard]] bool is_all_reduce() const {
    return spec_.training.strategy == Strategy::all_reduce;
  }
  void choose_ports();
  [[nodiscard]] std::string holder_of(std::int64_t index) const;

  TempFolder folder_;
  JobSpec spec_;
  std::optional<RestoreFrom> restore_;
  ClusterSpec cluster_;
  std::map<std::string, Child> children_;
  bool returns_ = false;
  bool keeps_files_ = true;
};

}  // namespace trainyard::runtime::test
