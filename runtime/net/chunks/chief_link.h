// What the chief alone asks of its ps, beside what each worker does in a step: snapshots, their
// shards, and weights. Part of its WorkerLink; asked again by each new connection.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/link_connections.h"
#include "runtime/net/chunks/link_state.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ChiefLink {
 public:
  // Both outlive this.
  ChiefLink(LinkState& state, LinkConnections& connections);

  // Sync: as Exchange::ask_snapshot().
  std::int64_t ask_snapshot();
  // Async: the next gradient of every rank marks it, and is its last in it.
  void begin_snapshot(std::int64_t snapshot, AfterSnapshot then);

  // With backup workers: as BackupExchange::want_snapshot(). Known with the next step, or later, by
  // named_snapshot().
  void want_snapshot(AfterSnapshot then);
  // The newest version that is to be a snapshot; 0: none since the ps began.
  [[nodiscard]] std::int64_t named_snapshot() const;
  // Waits until this version, or a later one, is that; 0: training is over without, as that of the
  // last step is the end's own. `unavailable` as WorkerLink::next(), likewise below.
  Result<std::int64_t> await_named_snapshot(std::int64_t wanted);
  // By rank, how many of its gradients were left out since the ps began.
  [[nodiscard]] std::vector<std::int64_t> left_out() const;

  // Waits until every ps' shard of the snapshot is durable; in the order of the ps. From any
  // thread, one at a time, as the next.
  Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request);
  // The whole arena as the newest shards have it.
  Result<AlignedBuffer> read_snapshot(std::int64_t snapshot);

 private:
  void ask();                                                                              // locked
  Status wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there);  // locked

  LinkState& state_;
  LinkConnections& connections_;
};

}  // namespace trainyard::runtime
