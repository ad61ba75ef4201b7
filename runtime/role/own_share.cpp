#include "runtime/role/own_share.h"

#include <utility>

namespace trainyard::runtime {

Result<OwnShare> OwnShare::open(const Task& task, const JobPlan& plan) {
  OwnShare own;
  if (task.context.spec.training.strategy != Strategy::all_reduce) return own;
  const auto index = static_cast<std::size_t>(training_rank(task.context));
  TRY_ASSIGN(own.server_, open_share(task, plan, index));
  return own;
}

Status OwnShare::finish(const std::stop_token& stop) {
  if (!server_) return ok();
  TRY_ASSIGN(const ChunkServer::Ended ended, server_->await_end(stop));
  static_cast<void>(ended);
  return ok();
}

}  // namespace trainyard::runtime
