// What a ps keeps for checkpoints, and tells the chief of its shards: copies go to the writer, and
// what the writer says to the chief.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/net/chunks/chunk_store.h"
#include "runtime/net/chunks/connected_workers.h"
#include "runtime/net/chunks/server_options.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "runtime/ps/parameter_server.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ServerSnapshots {
 public:
  struct Share {
    const ParameterServer& core;
    ChunkStore& store;
  };
  // `ring` wakes the thread that serves, which then calls tell_written(): from any thread. All that
  // is given here outlives this.
  ServerSnapshots(const ServerOptions& options, Share share, const ConnectedWorkers& workers,
                  std::function<void()> ring);

  // A snapshot whose copy is whole.
  void save(const SaveCopy& what, ChunkStore::Copy copy);
  // The chief wants to know when its shard is durable.
  void ask_shard(SnapshotWriter::Request request);
  // As SnapshotWriter::newest().
  [[nodiscard]] Result<ShareSnapshotPtr> newest(std::int64_t step) const;
  // A chunk was updated: perhaps the last one that the end waited for.
  void updated() {
    if (end_is_asked_) save_end();
  }
  // Tells the chief of the shards that were written since, or why not.
  void tell_written();

 private:
  void save_end();

  const ServerOptions& options_;
  const Share share_;
  const ConnectedWorkers& workers_;
  const std::function<void()> ring_;
  bool end_is_asked_ = false;  // the snapshot of the last step, which nothing marks
  std::mutex mutex_;
  std::vector<std::pair<std::int64_t, Result<WrittenShard>>> written_;  // guarded by mutex_
  SnapshotWriter writer_;  // last: its thread uses what is above
};

}  // namespace trainyard::runtime
