// The share of the parameters that a worker of an all-reduce holds: a ps in its own process, on a
// thread of its own. A worker of another strategy has none.
#pragma once

#include <memory>

#include "runtime/role/serve.h"

namespace trainyard::runtime {

class OwnShare {
 public:
  // Serves at once, so that peers find it. `task` and `plan` outlive it.
  static Result<OwnShare> open(const Task& task, const JobPlan& plan);

  // Waits until the chief has said that training is over and every worker knows it, or until
  // `stop`.
  Status finish(const std::stop_token& stop);

 private:
  std::unique_ptr<ChunkServer> server_;  // none: no share
};

}  // namespace trainyard::runtime
