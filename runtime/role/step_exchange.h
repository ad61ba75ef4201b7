// How a task that computes gradients reaches the parameters: on the network (RemoteExchange), or in
// its own process (LocalExchange). The worker's loop is the same for both.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/after_snapshot.h"
#include "runtime/core/batch_sums.h"
#include "runtime/core/exchange_words.h"
#include "runtime/graph/parameter_place.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class ResidentParameters;
class RowExchange;

using Seconds = std::chrono::duration<double>;

class StepExchange {
 public:
  virtual ~StepExchange() = default;

  // Waits until a step may begin. `unavailable`: a ps is gone, or the task was asked to stop.
  virtual Result<NextStep> next() = 0;

  // The whole arena, where it lies until next() is called. Between two steps all of it stays as it
  // is; in a step, what await_parameters() was called for, until its gradient is settled, or until
  // the step is done, where they stay.
  [[nodiscard]] virtual ParameterPlace parameters() const = 0;
  // Where others than the model read them, as floats of the host: their newest values may lie on
  // its device, or rounded.
  [[nodiscard]] virtual std::span<const float> parameters_on_host() { return parameters().arena; }
  [[nodiscard]] virtual bool parameters_stay() const { return false; }
  // Perhaps to another host: then the end of a large gradient is worth to be settled before the
  // rest. Without a network another thread would only take a busy core earlier.
  [[nodiscard]] virtual bool goes_by_tcp() const { return false; }
  // Waits until the elements before `end` are there, so that a model can begin with its first
  // layer.
  virtual Status await_parameters(std::int64_t end) = 0;

  // Of the step that has begun: of each part, one after another. It may be written once all
  // parameters are there.
  [[nodiscard]] virtual std::span<float> gradient() = 0;
  // Where this is not empty, of a part: each element is wanted here, rounded to bfloat16, at its
  // place in the arena, and in gradient() state alone.
  [[nodiscard]] virtual std::span<std::uint16_t> rounded_gradient(std::int64_t /*part*/) {
    return {};
  }
  // Where parameters live on the devices of all models that compute them: their gradients stay
  // there, too. Null: gradients are wanted in gradient().
  [[nodiscard]] virtual ResidentParameters* resident() { return nullptr; }
  // Onebit: what gradients before this step's were worth in an update, beside it; before it is
  // settled.
  virtual void set_residual_scale(float /*scale*/) {}
  // The elements from `from` on are final, in all parts, but for those of state. With 0 these are,
  // too, and the step is done.
  virtual void settle(std::int64_t from) = 0;
  // False: onebit or state, and a number that was to be settled is none; it was not sent.
  [[nodiscard]] virtual bool is_finite() const { return true; }
  // Of the step that has begun, before anything of it is settled.
  virtual void tell_sums(std::int64_t step, const BatchSums& sums) = 0;

  // Since the last call.
  virtual ExchangeNews take_news() = 0;

  // For the chief. Sync: the step that has begun, and is not settled anywhere, makes the snapshot
  // of its own number. Async: the next gradient of every rank is its last in it. `stops`: nobody
  // goes on behind it.
  virtual void begin_snapshot(std::int64_t snapshot, AfterSnapshot then) = 0;
  // With backup workers it is of this version or a later one, which they decide: waits for it. 0:
  // training is over without.
  virtual Result<std::int64_t> await_snapshot(std::int64_t snapshot) { return snapshot; }
  // Likewise: by rank, how many gradients came too late, since the ps began.
  [[nodiscard]] virtual std::vector<std::int64_t> dropped() const { return {}; }
  // That the gradient of the step that has begun marks; 0: none. Sync: of the chief alone.
  [[nodiscard]] virtual std::int64_t marked_snapshot() const = 0;
  // Waits until every shard of it is durable; in the order of the shares. On another thread than
  // the rest, or on the same. The last version needs no begin_snapshot().
  virtual Result<std::vector<WrittenShard>> shards(SnapshotWriter::Request request) = 0;
  // The whole arena as the newest shards have it.
  virtual Result<AlignedBuffer> read_snapshot(std::int64_t snapshot) = 0;

  // Where the model has an embedding table; after the first next().
  virtual Result<std::unique_ptr<RowExchange>> open_rows() = 0;

  // Nothing is needed any more.
  virtual void leave(Leaving who) = 0;

  // This task ends with an error: whoever waits on another thread gets `unavailable`, and no call
  // succeeds any more.
  virtual void give_up() {}

  // An error where no call succeeds any more: which, and why.
  [[nodiscard]] virtual Status state() const { return ok(); }
  // Whether that is because this worker computes on another kind of device than others.
  [[nodiscard]] virtual bool differs_from_peers() const { return false; }
  // What computed the checkpoint that training goes on from, as Hello::fingerprint; after the first
  // next(). "": it began without one, or its bytes are those of any device.
  [[nodiscard]] virtual std::string computed_on() const = 0;
  // By holder of parameters, how it is reached; empty: they are in this process.
  [[nodiscard]] virtual std::vector<std::string> transports() const { return {}; }
};

}  // namespace trainyard::runtime
