#include "runtime/role/own_share.h"

#include <utility>

namespace trainyard::runtime {

OwnShare::Failure::Failure(const std::stop_token& stop) : on_stop_(stop, Request{source_}) {}

void OwnShare::Failure::tell(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    why_ = why;
  }
  source_.request_stop();
}

std::string OwnShare::Failure::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

OwnShare::OwnShare(const Task& task)
    : task_(&task), failure_(std::make_unique<Failure>(task.stop)) {}

Result<OwnShare> OwnShare::open(const Task& task, const JobPlan& plan,
                                const ComputeDevices& devices) {
  OwnShare own(task);
  if (task.context.spec.training.strategy != Strategy::all_reduce) return own;
  const auto index = static_cast<std::size_t>(training_rank(task.context));
  UpdatePlace place;
  if (!devices.gpus.empty() && !plan.slot_names.empty()) {
    TRY_ASSIGN(place.device, task.cause.of(Reason::no_gpu, open_first_again()));
    place.spare_bytes = spare_bytes(*devices.gpus.front());
  }
  place.on_failed = [&failure = *own.failure_](const std::string& why) { failure.tell(why); };
  TRY_ASSIGN(own.served_, open_share(task, plan, index, std::move(place)));
  return own;
}

Task OwnShare::task() const {
  return {task_->context, task_->events, task_->cause, failure_->stop()};
}

void OwnShare::require_sound() const {
  const std::string why = failure_->why();
  if (!why.empty()) throw DeviceFailed(why);
}

Status OwnShare::finish() {
  if (!served_) return ok();
  TRY_ASSIGN(const ChunkServer::Ended ended, served_->chunks->await_end(failure_->stop()));
  static_cast<void>(ended);
  return ok();
}

}  // namespace trainyard::runtime
