#include "runtime/data/prefetch.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

Status read_batch(const Dataset& dataset, const Sampler& sampler, const BatchPlan& plan,
                  std::int64_t step, std::int64_t leaf, Batch& batch) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(plan.batch_size));
  const std::int64_t position = batch_position(step, leaf, plan.leaves, plan.batch_size);
  sampler.fill(position, indices);
  return dataset.read({.split = Split::train,
                       .indices = indices,
                       .first_position = static_cast<std::uint64_t>(position)},
                      batch);
}

Prefetcher::Prefetcher(const Dataset& dataset, const Sampler& sampler, BatchPlan plan,
                       std::size_t ahead)
    : dataset_(dataset), sampler_(sampler), plan_(plan), slots_(ahead + 1) {
  ENSURE(ahead >= 1 && plan.batch_size >= 1 && plan.first_step >= 1 && plan.leaf_count >= 1);
}

Prefetcher::~Prefetcher() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Prefetcher::start() {
  ENSURE(!thread_.joinable());
  thread_ = std::thread([this] { read_ahead(); });
}

Result<const Batch*> Prefetcher::next() {
  std::unique_lock lock(mutex_);
  if (step_of(taken_) > plan_.last_step) return static_cast<const Batch*>(nullptr);
  changed_.wait(lock, [this] { return stopped_ || read_ > taken_ || !fault_.has_value(); });
  if (stopped_) return static_cast<const Batch*>(nullptr);
  if (read_ <= taken_) return fault_.error();
  ++taken_;
  changed_.notify_all();  // the batch handed out before is free again
  return static_cast<const Batch*>(&slot(taken_ - 1));
}

void Prefetcher::skip_to(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  const std::int64_t batch = (step - plan_.first_step) * plan_.leaf_count;
  ENSURE(batch >= taken_);
  taken_ = batch;
  changed_.notify_all();
}

void Prefetcher::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Prefetcher::read_ahead() {
  for (std::int64_t batch = 0;; ++batch) {
    {
      // One slot is the caller's: that of batch taken_ - 1.
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || batch - taken_ < slot_count() - 1; });
      if (stopped_) return;
      batch = std::max(batch, taken_);
    }
    if (step_of(batch) > plan_.last_step) return;
    const std::int64_t leaf = plan_.first_leaf + batch % plan_.leaf_count;
    Status status = read_batch(dataset_, sampler_, plan_, step_of(batch), leaf, slot(batch));
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (!status.has_value()) {
      fault_ = std::move(status);
      return;
    }
    read_ = batch + 1;
  }
}

}  // namespace trainyard::runtime
