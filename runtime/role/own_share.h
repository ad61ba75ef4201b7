// The share of the parameters that a worker of an all-reduce holds: a ps in its own process, on a
// thread of its own. A worker of another strategy has none.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "runtime/role/serve.h"

namespace trainyard::runtime {

class OwnShare {
 public:
  // Serves at once, so that peers find it. `task` and `plan` outlive it.
  static Result<std::unique_ptr<OwnShare>> open(const Task& task, const JobPlan& plan);
  ~OwnShare();
  OwnShare(const OwnShare&) = delete;
  OwnShare& operator=(const OwnShare&) = delete;

  // Waits until the chief has said that training is over and every worker knows it, or until
  // `stop`.
  Status finish(const std::stop_token& stop);

 private:
  OwnShare() = default;

  std::unique_ptr<PsServer> server_;              // none: no share
  std::optional<Result<PsServer::Ended>> ended_;  // once the thread is over
  std::jthread thread_;
};

}  // namespace trainyard::runtime
