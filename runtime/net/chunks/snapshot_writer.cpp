// One thread, one queue. Replies are called without the lock.
#include "runtime/net/chunks/snapshot_writer.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t queue_max = 2;
constexpr std::size_t remember_max = 8;
constexpr std::size_t waiting_max = 64;

// `unavailable` is the word of a ps that is gone: this one is there, and cannot write.
Error cannot_write(const Error& error) {
  return error.code == Code::unavailable ? internal(error.message) : error;
}

}  // namespace

SnapshotWriter::SnapshotWriter(SnapshotFiles files)
    : files_(std::move(files)), thread_([this] { run(); }) {}

SnapshotWriter::~SnapshotWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const Waiting& waiting : waiting_) waiting.reply(unavailable("the ps is ending"));
}

void SnapshotWriter::take(ShareSnapshot snapshot) {
  const std::int64_t step = snapshot.step;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() < queue_max) {
      queue_.push_back(std::make_shared<const ShareSnapshot>(std::move(snapshot)));
      changed_.notify_all();
      return;
    }
  }
  finish(step, internal("the snapshot of step " + std::to_string(step) + " was refused: " +
                        std::to_string(queue_max) + " others wait for the disk"));
}

bool SnapshotWriter::knows(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  return writing_ == step || done_.contains(step) ||
         std::ranges::any_of(queue_, [step](const auto& queued) { return queued->step == step; });
}

Result<ShareSnapshotPtr> SnapshotWriter::newest(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  if (newest_ != nullptr && newest_->step == step) return newest_;
  return not_found("the weights of snapshot " + std::to_string(step) + " are not kept");
}

void SnapshotWriter::when_written(Request request, Reply reply) {
  const std::int64_t step = request.step;
  std::optional<Result<WrittenShard>> result;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = done_.find(step); found != done_.end()) result = found->second;
    if (waiting_.size() < waiting_max) {
      waiting_.push_back({std::move(request), std::move(reply)});
      reply = nullptr;
    }
  }
  if (reply) return reply(internal("too many wait for snapshots"));
  if (result) finish(step, *result);
}

void SnapshotWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const ShareSnapshotPtr snapshot = std::move(queue_.front());
    queue_.pop_front();
    writing_ = snapshot->step;
    lock.unlock();

    auto file = files_.write(*snapshot);
    if (file.has_value()) {
      if (files_.keeps_newest) {
        const std::lock_guard keep(mutex_);
        newest_ = snapshot;
      }
      finish(snapshot->step, WrittenShard{.file = *std::move(file),
                                          .version = snapshot->version,
                                          .rank_steps = snapshot->rank_steps});
    } else {
      finish(snapshot->step, cannot_write(file.error()));
    }
    lock.lock();
  }
}

void SnapshotWriter::finish(std::int64_t step, const Result<WrittenShard>& result) {
  std::vector<Waiting> answered;
  {
    const std::lock_guard lock(mutex_);
    if (writing_ == step) writing_.reset();
    done_.insert_or_assign(step, result);
    while (done_.size() > remember_max) done_.erase(done_.begin());
    const auto others = std::ranges::stable_partition(
        waiting_, [step](const Waiting& waiting) { return waiting.request.step != step; });
    std::ranges::move(others, std::back_inserter(answered));
    waiting_.erase(others.begin(), others.end());
  }
  for (const Waiting& waiting : answered) {
    if (!waiting.request.keep_steps.empty()) files_.keep_only(waiting.request.keep_steps);
    waiting.reply(result);
  }
}

}  // namespace trainyard::runtime
