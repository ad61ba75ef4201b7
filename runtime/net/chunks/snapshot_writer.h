// Writes snapshots of a share in the background, one after another, and tells those who ask when a
// shard is durable. What "write" means is given from above (runtime/role), so that this folder
// knows no files.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/rows/row_tables.h"
#include "schemas/base/result.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

// Of one cut through training. Weights and each of the slots are the share's elements, in the order
// of the arena.
struct ShareSnapshot {
  std::int64_t step = 0;                 // its name
  std::int64_t version = 0;              // updates in it
  std::vector<std::int64_t> rank_steps;  // by rank: its newest step in it
  AlignedBuffer weights;
  std::vector<AlignedBuffer> slots;
  // Onebit: by leaf of the reduction tree, what the encoding of its gradients has lost.
  std::map<std::int64_t, AlignedBuffer> residuals = {};
  std::optional<RowTables> rows = {};  // of the embedding tables, where there are some
};
using ShareSnapshotPtr = std::shared_ptr<const ShareSnapshot>;

// A shard of a checkpoint that is durable.
struct WrittenShard {
  ArtifactFile file;
  std::int64_t version = 0;
  std::vector<std::int64_t> rank_steps;
};

struct SnapshotFiles {
  std::function<Result<ArtifactFile>(const ShareSnapshot&)> write;
  // Deletes the shards of all steps but these.
  std::function<void(const std::vector<std::int64_t>&)> keep_only;
  bool keeps_newest = false;  // in memory, once it is written: newest()
};

class SnapshotWriter {
 public:
  using Reply = std::function<void(Result<WrittenShard>)>;

  explicit SnapshotWriter(SnapshotFiles files);
  // Writes what is queued, answers `unavailable` to those whose snapshot never came.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Two snapshots may wait: a third is refused, and those who ask for it are told so.
  void take(ShareSnapshot snapshot);

  // True when the snapshot of `step` was taken, whether it is written yet or not.
  [[nodiscard]] bool knows(std::int64_t step) const;

  // The snapshot of `step`, where it is the newest that was written.
  [[nodiscard]] Result<ShareSnapshotPtr> newest(std::int64_t step) const;

  struct Request {
    std::int64_t step = 0;
    std::vector<std::int64_t> keep_steps;  // empty = all
  };
  // `reply` is called once, on the writer's thread or on this one; `internal` when too many wait.
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
  std::deque<ShareSnapshotPtr> queue_;                 // guarded by mutex_
  std::map<std::int64_t, Result<WrittenShard>> done_;  // guarded by mutex_; the newest few
  std::vector<Waiting> waiting_;                       // guarded by mutex_
  ShareSnapshotPtr newest_;                            // guarded by mutex_; that was written
  std::optional<std::int64_t> writing_;                // guarded by mutex_; the step
  bool stopping_ = false;                              // guarded by mutex_
  std::jthread thread_;                                // last: it uses all of the above
};

}  // namespace trainyard::runtime
