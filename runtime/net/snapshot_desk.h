// Writes snapshots in the background, one after another, and tells those who ask when a shard is
// durable. What "write" means is given from above (runtime/role), so that this folder knows no
// files.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/net/aggregator.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

// A shard of a checkpoint that is durable.
struct WrittenShard {
  ArtifactFile file;
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps;
};

struct SnapshotFiles {
  std::function<Result<ArtifactFile>(const Snapshot&)> write;
  // Deletes the shards of all steps but these.
  std::function<void(const std::vector<std::int64_t>&)> keep_only;
  bool keeps_weights = false;  // those of the newest stay in memory: newest_weights()
};

class SnapshotDesk {
 public:
  using Reply = std::function<void(Result<WrittenShard>)>;

  explicit SnapshotDesk(SnapshotFiles files);
  // Writes what is queued, answers `unavailable` to those whose snapshot never came.
  ~SnapshotDesk();
  SnapshotDesk(const SnapshotDesk&) = delete;
  SnapshotDesk& operator=(const SnapshotDesk&) = delete;

  // Two snapshots may wait: a third is refused, and those who ask for it are told so.
  void take(Snapshot snapshot);

  // True when the snapshot of `step` was taken, whether it is written yet or not.
  [[nodiscard]] bool knows(std::int64_t step) const;

  // Of the snapshot of `step`, the newest that was written; `not_found` where it is not that.
  [[nodiscard]] Result<Weights> newest_weights(std::int64_t step) const;

  struct Request {
    std::int64_t step = 0;
    std::vector<std::int64_t> keep_steps;  // empty = all
  };
  // `reply` is called once, on the desk's thread or on this one; `unavailable` when too many wait.
  void when_written(Request request, Reply reply);

 private:
  struct Waiting {
    Request request;
    Reply reply;
  };

  void run();
  void finish(std::int64_t step, const Result<WrittenShard>& result);

  const SnapshotFiles files_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Snapshot> queue_;                           // guarded by mutex_
  std::map<std::int64_t, Result<WrittenShard>> done_;    // guarded by mutex_; the newest few
  std::vector<Waiting> waiting_;                         // guarded by mutex_
  std::pair<std::int64_t, Weights> newest_{0, nullptr};  // step, and what it keeps; likewise
  std::optional<std::int64_t> writing_;                  // the step that is being written
  bool stopping_ = false;                                // guarded by mutex_
  std::jthread thread_;                                  // last: it uses all of the above
};

}  // namespace trainyard::runtime
