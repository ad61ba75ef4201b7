#include "runtime/net/chunks/server_snapshots.h"

#include "runtime/net/chunks/control_payload.h"

namespace trainyard::runtime {

ServerSnapshots::ServerSnapshots(const ServerOptions& options, Share share,
                                 const ConnectedWorkers& workers, std::function<void()> ring)
    : options_(options),
      share_(share),
      workers_(workers),
      ring_(std::move(ring)),
      writer_(options.files) {}

void ServerSnapshots::save(const SaveCopy& what, ChunkStore::Copy copy) {
  writer_.take({.step = what.snapshot,
                .version = what.version,
                .rank_steps = what.rank_steps,
                .weights = std::move(copy.weights),
                .slots = std::move(copy.slots),
                .residuals = std::move(copy.residuals)});
}

void ServerSnapshots::ask_shard(SnapshotWriter::Request request) {
  const std::int64_t step = request.step;
  if (!writer_.knows(step)) {
    if (share_.store.chunks() == 0) {  // which no gradient marks
      writer_.take({.step = step, .version = step, .rank_steps = {}, .weights = {}, .slots = {}});
    }
    // What the residuals are at the end, the gradients of the last step have to ask for, where that
    // step is still made.
    const bool is_marked = share_.store.has_residuals() && options_.rules.mode == Mode::sync &&
                           options_.start.version < options_.last_step;
    end_is_asked_ = step == options_.last_step && !is_marked;
    save_end();
  }
  writer_.when_written(std::move(request), [this, step](Result<WrittenShard> shard) {
    const std::lock_guard lock(mutex_);
    written_.emplace_back(step, std::move(shard));
    ring_();
  });
}

Result<ShareSnapshotPtr> ServerSnapshots::newest(std::int64_t step) const {
  return writer_.newest(step);
}

// The last version of all chunks is never updated: it needs no copy on the way.
void ServerSnapshots::save_end() {
  const std::int64_t step = options_.last_step;
  const std::int64_t version = share_.core.version();
  if (!end_is_asked_ || share_.store.chunks() == 0 || version < step) return;
  end_is_asked_ = false;
  if (writer_.knows(step)) return;
  save({.snapshot = step, .version = version, .rank_steps = share_.core.rank_steps()},
       share_.store.copy_all());
}

void ServerSnapshots::tell_written() {
  decltype(written_) written;
  {
    const std::lock_guard lock(mutex_);
    written.swap(written_);
  }
  for (const auto& [step, shard] : written) {
    const FrameHeader header{
        .kind = FrameKind::shard, .flag = !shard.has_value(), .snapshot = step};
    workers_.tell(0, header,
                  shard.has_value() ? encode_shard(*shard) : encode_error(shard.error()));
  }
}

}  // namespace trainyard::runtime
