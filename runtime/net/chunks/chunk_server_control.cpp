// Of a ps: what the chief asks of it beside gradients and parameters, and what is kept for
// checkpoints.
#include <unistd.h>

#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/server_connection.h"

namespace trainyard::runtime {

Status ChunkServer::take_of_chief(Connection& connection, const FrameHeader& header,
                                  std::span<const std::byte> payload) {
  if (connection.rank_ != 0) return invalid("only the chief says that");
  switch (header.kind) {
    case FrameKind::begin_snapshot:
      if (!turns_) return invalid("turns are not given here");
      if (!turns_->begin_snapshot(header.snapshot,
                                  header.flag ? PushTurns::Then::last : PushTurns::Then::goes_on)) {
        tell(0, {.kind = FrameKind::shard, .flag = true, .snapshot = header.snapshot},
             encode_error(conflict("training is over")));
      }
      return ok();
    case FrameKind::ask_shard: {
      TRY_ASSIGN(auto keep_steps, decode_numbers(payload));
      ask_shard(header.snapshot, std::move(keep_steps));
      return ok();
    }
    case FrameKind::ask_weights: {
      auto snapshot = writer_.newest(header.snapshot);
      if (snapshot.has_value()) {
        connection.weights_ = *std::move(snapshot);
        connection.next_weights_ = 0;
      } else {
        tell(0, {.kind = FrameKind::weights, .flag = true, .snapshot = header.snapshot},
             encode_error(snapshot.error()));
      }
      return ok();
    }
    case FrameKind::finish: attendance_.finished(steady_now()); return ok();
    default: return invalid("a worker does not say that");
  }
}

Status ChunkServer::take_residual(Connection& connection, const FrameHeader& header,
                                  std::span<const std::byte> payload) {
  const ResidualCame came{connection.rank_, header.chunk, header.snapshot};
  if (core_.would_take(came)) store_.residual_came(came, payload);
  TRY(perform(came));
  tell(connection.rank_,
       {.kind = FrameKind::residual_taken, .chunk = header.chunk, .snapshot = header.snapshot});
  return ok();
}

// Async goes on without what a process has lost.
Status ChunkServer::give_back_residuals(Connection& connection) {
  if (!store_.has_residuals()) return invalid("residuals are not kept here");
  for (std::int64_t chunk = 0; chunk < store_.chunks(); ++chunk) {
    const bool is_used = core_.version_of(chunk) != options_.start.version;
    if (is_used && options_.rules.mode == Mode::sync) {
      return invalid("what a process before it knew is lost: the gang has to begin anew");
    }
  }
  connection.restored_ = 0;
  return ok();
}

void ChunkServer::ask_shard(std::int64_t step, std::vector<std::int64_t> keep_steps) {
  if (!writer_.knows(step)) {
    if (store_.chunks() == 0) {  // which no gradient marks
      writer_.take({.step = step, .version = step, .rank_steps = {}, .weights = {}, .slots = {}});
    }
    // What the residuals are at the end, the gradients of the last step have to ask for, where that
    // step is still made.
    const bool is_marked = store_.has_residuals() && options_.rules.mode == Mode::sync &&
                           options_.start.version < options_.last_step;
    end_is_asked_ = step == options_.last_step && !is_marked;
    save_end();
  }
  writer_.when_written({.step = step, .keep_steps = std::move(keep_steps)},
                       [this, step](Result<WrittenShard> shard) {
                         const std::lock_guard lock(mutex_);
                         written_.emplace_back(step, std::move(shard));
                         ring();
                       });
}

// The last version of all chunks is never updated: it needs no copy on the way.
void ChunkServer::save_end() {
  const std::int64_t step = options_.last_step;
  if (!end_is_asked_ || store_.chunks() == 0 || core_.version() < step) return;
  end_is_asked_ = false;
  if (writer_.knows(step)) return;
  ChunkStore::Copy copy = store_.copy_all();
  writer_.take({.step = step,
                .version = core_.version(),
                .rank_steps = core_.rank_steps(),
                .weights = std::move(copy.weights),
                .slots = std::move(copy.slots),
                .residuals = std::move(copy.residuals)});
}

void ChunkServer::tell_shards() {
  std::uint64_t rung = 0;
  static_cast<void>(::read(bell_.get(), &rung, sizeof rung) != 0);
  decltype(written_) written;
  {
    const std::lock_guard lock(mutex_);
    written.swap(written_);
  }
  for (const auto& [step, shard] : written) {
    const FrameHeader header{
        .kind = FrameKind::shard, .flag = !shard.has_value(), .snapshot = step};
    tell(0, header, shard.has_value() ? encode_shard(*shard) : encode_error(shard.error()));
  }
}

}  // namespace trainyard::runtime
