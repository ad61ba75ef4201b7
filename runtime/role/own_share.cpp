#include "runtime/role/own_share.h"

#include <utility>

namespace trainyard::runtime {

Result<std::unique_ptr<OwnShare>> OwnShare::open(const Task& task, const JobPlan& plan) {
  std::unique_ptr<OwnShare> own(new OwnShare());
  if (task.context.spec.training.strategy != Strategy::all_reduce) return own;
  const auto index = static_cast<std::size_t>(training_rank(task.context));
  TRY_ASSIGN(own->server_, open_share(task, plan, index));
  own->thread_ = std::jthread([share = own.get()](const std::stop_token& stop) {
    share->ended_ = share->server_->serve(stop);
  });
  return own;
}

OwnShare::~OwnShare() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Status OwnShare::finish(const std::stop_token& stop) {
  if (!server_) return ok();
  const std::stop_callback on_stop(stop, [this] { thread_.request_stop(); });
  thread_.join();
  if (!ended_->has_value()) return ended_->error();
  return ok();
}

}  // namespace trainyard::runtime
