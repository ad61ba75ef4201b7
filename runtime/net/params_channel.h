// How a worker reaches the parameters: over gRPC on any number of ps (RemoteParams), or in its own
// process (LocalParams). The worker's code is the same for both.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/heirs.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/rows/row_bags.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/snapshot_desk.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// What a worker sends of one batch.
struct Contribution {
  std::int64_t step = 0;  // as VersionGate numbers them
  BatchSums sums;
  std::int64_t snapshot_step = 0;       // not 0: the name of a checkpoint; as in Push
  bool holds = false;                   // as in Push
  std::int64_t announced_snapshot = 0;  // as in Push
  // Onebit: what the encoding has lost is sent too, for a checkpoint of what this push makes.
  bool residuals = false;
  // Onebit: what the gradients before this one counted for in an update, beside this one.
  float residual_scale = 1;
  // Of the whole arena, for each part one after another; unchanged until the answer is there, and
  // held while the network may read it.
  std::shared_ptr<const AlignedBuffer> gradient;
};

// Whichever way it took.
struct Traffic {
  // Bytes of tensors; with a table, of ids and bags too.
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t pooled = 0;  // lookups of rows that a ps has answered with sums of them
  Traffic& operator+=(const Traffic& more) {
    sent += more.sent;
    received += more.received;
    pooled += more.pooled;
    return *this;
  }
};

using Seconds = std::chrono::duration<double>;

// Parts of the time that an exchange took; the rest was waiting.
struct ExchangeTimes {
  Seconds push{};   // encoding, and handing frames to the transport
  Seconds pull{};   // bringing parameters to where they are read
  Seconds apply{};  // what the ps had left to sum and update with all pushes there: of the slowest
  ExchangeTimes& operator+=(const ExchangeTimes& more) {
    push += more.push;
    pull += more.pull;
    apply += more.apply;
    return *this;
  }
};

struct Pulled {
  std::int64_t version = 0;        // with several ps in async mode: that of ps 0
  std::int64_t oldest = 0;         // version of the ps that is furthest behind
  std::int64_t newest = 0;         // and of the one that is furthest ahead
  std::int64_t rank_step = 0;      // newest step of this worker that every ps has taken
  std::int64_t rank_step_max = 0;  // and that any has
  bool turn = false;               // async: this worker may push again, says ps 0
  // Async: updates that the ps' versions count and their shares lack, of all ps together: what was
  // lost with earlier processes of them.
  std::int64_t lost_updates = 0;
  BatchSums sums;  // all that was applied since this worker's last answer
  // Not 0: a checkpoint of this name is to be made, and this rank's next push is to carry it.
  std::int64_t asked_snapshot = 0;
  // With backup workers: the newest version that was made to be a checkpoint, 0: none yet; and
  // whether this worker's push is part of the step that it was for.
  std::int64_t made_snapshot = 0;
  bool contributed = true;
  // Sync: not empty where a ps asked for gradients of ranks that are not there instead of
  // answering. Nothing else but sums and traffic counts then.
  Inheritance inheritance = {};
  bool was_cut = false;  // a connection was, in this exchange, and was made again
  // Of this exchange, and of the rows that were looked up and pushed since the one before.
  Traffic traffic = {};
  ExchangeTimes times = {};
  // The whole arena, where it lies; unchanged until the next call of the channel's pull or
  // push_pull, but for elements that await_parameters() was not called for yet.
  std::span<const float> parameters;
};

class ParamsChannel {
 public:
  virtual ~ParamsChannel() = default;

  // A buffer for gradients that this channel sends without a copy.
  virtual std::shared_ptr<AlignedBuffer> gradient_buffer(std::size_t elements) {
    return std::make_shared<AlignedBuffer>(elements);
  }

  // The parameters of version `at_least` or newer. `unavailable` when a ps is gone or the caller
  // was asked to stop.
  virtual Result<Pulled> pull(std::int64_t at_least) = 0;
  // Sync: of just this version, which may be the one before the newest where the ps keep it.
  // `conflict` where they do not.
  virtual Result<Pulled> pull_exactly(std::int64_t version) = 0;
  // Async: the newest, once there is a turn for this worker or training is over.
  virtual Result<Pulled> pull_turn() = 0;
  // As pull(), as the ps have them: not rounded, whatever the wire.
  virtual Result<Pulled> pull_master(std::int64_t at_least) { return pull(at_least); }

  // Whether begin_push() is worth a call.
  [[nodiscard]] virtual bool can_begin_push() const { return false; }
  // Begins to send a gradient that is still computed: its push_pull() must follow, of the same
  // contribution. False: nothing was begun.
  virtual bool begin_push(const Contribution& /*contribution*/) { return false; }
  // In between: the elements of the arena from `from` on are final in the last of its parts, and
  // all elements of those before.
  virtual void release(std::int64_t /*from*/) {}

  // Sends a gradient and waits for the parameters that it, and in sync those of all other ranks,
  // made. The last of them may still be on their way when it returns.
  virtual Result<Pulled> push_pull(const Contribution& contribution) = 0;
  // Waits until the elements of the arena before `end` are there, so that a model can begin with
  // its first layer. `unavailable` when a ps is gone or too late, or the caller was asked to stop:
  // no other call succeeds afterwards.
  virtual Status await_parameters(std::int64_t /*end*/) { return ok(); }

  // Gives every ps the contribution of another rank, as it was asked to: made from the parameters
  // of the version before its step.
  virtual Status inherit(std::int64_t rank, const Contribution& contribution) = 0;

  // The rows [ids, width] of the embedding table, of distinct ids. Sync: of the version that was
  // pulled last.
  virtual Status read_rows(std::span<const std::int64_t> ids, std::span<float> rows) = 0;
  // The same, of ids that ascend, for a gradient: in the push_rows() that follows the ids of part
  // `part` are those that were looked up for it. It is part of the push' traffic.
  virtual Status look_up_rows(std::int64_t /*part*/, std::span<const std::int64_t> ids,
                              std::span<float> rows) {
    return read_rows(ids, rows);
  }
  // Gives the table's gradients of a step, one for each part, ahead of its push_pull.
  virtual Status push_rows(std::int64_t step, std::vector<RowGradients> parts) = 0;

  // Async: whether the two that follow are there, in place of look_up_rows() and push_rows().
  [[nodiscard]] virtual bool pools_rows() const { return false; }
  // Each ps gives its rows or their sums by example, whichever is fewer bytes (core/row_mode).
  virtual Result<PooledBags> look_up_bags(const BagView& /*batch*/) {
    return invalid("rows are not summed here");
  }
  // Gradients of the vectors that came of it.
  virtual Status push_bags(std::int64_t /*step*/, std::span<const float> /*gradients*/) {
    return invalid("rows are not summed here");
  }

  // With backup workers: how many contributions came too late, by rank, since the ps began. Empty
  // where nobody can tell.
  virtual std::vector<std::int64_t> dropped() { return {}; }

  // By ps, how it is reached; none where the parameters are in this process.
  [[nodiscard]] virtual std::vector<std::string> transports() const { return {}; }

  // For the chief: every ps' shard of the checkpoint of `step`, in the order of the ps, once all
  // are durable. May be called on another thread while this one pushes.
  virtual Result<std::vector<WrittenShard>> snapshot(const SnapshotDesk::Request& request) = 0;

  // For the chief, on the same thread: the whole arena as the checkpoint of `step` has it, the
  // newest that snapshot() gave.
  virtual Result<AlignedBuffer> read_snapshot(std::int64_t /*step*/) {
    return not_found("snapshots are not kept here");
  }

  // For the chief: training is over, every ps may exit.
  virtual Status finish() = 0;
};

}  // namespace trainyard::runtime
