// What the tasks of an asynchronous job say of its checkpoints, as they write it: their folders go
// with the job.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/types/run_event.h"
#include "tests/e2e/call_watch.h"

namespace trainyard::e2e {

class Ledger {
 public:
  // Of a task's events what the call would write of them; of other calls nothing.
  void note(const WatchedCall& call);
  void clear();
  // Every checkpoint is a true cut: on all ps the same pushes of every worker count.
  void check();

 private:
  void check(const ManifestEvent& checkpoint);

  std::mutex mutex_;
  // Of each worker, by a shard's name and digest.
  std::map<std::string, std::vector<std::int64_t>> pushes_;
  std::vector<ManifestEvent> checkpoints_;
};

}  // namespace trainyard::e2e
