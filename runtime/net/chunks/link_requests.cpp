#include "runtime/net/chunks/link_requests.h"

#include <algorithm>

#include "runtime/net/chunks/control_payload.h"
#include "runtime/net/chunks/small_frames.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

LinkRequests::LinkRequests(const WorkerArenas& arenas, std::size_t servers)
    : arenas_(arenas), released_(servers), lists_(servers) {}

void LinkRequests::begin_snapshot(std::int64_t snapshot, AfterSnapshot then) {
  begun_ = Begun{snapshot, then};
}

void LinkRequests::ask_shards(SnapshotWriter::Request request) {
  shards_ = Shards{.request = std::move(request), .of_ps = {}};
  shards_->of_ps.resize(released_.size());
}

void LinkRequests::ask_weights(std::int64_t snapshot) {
  const auto& chunks = arenas_.chunks();
  weights_ = Weights{.snapshot = snapshot,
                     .arena = AlignedBuffer(index_of(arenas_.elements())),
                     .missing = std::vector<bool>(chunks.size(), true),
                     .error = {}};
}

void LinkRequests::leave(Leaving who) { leaving_ = who; }

std::vector<LinkRequests::Frame> LinkRequests::unanswered(std::size_t ps) const {
  std::vector<Frame> frames;
  if (begun_ && ps == 0) {
    frames.push_back(small_frame({.kind = FrameKind::begin_snapshot,
                                  .flag = begun_->then == AfterSnapshot::stops,
                                  .snapshot = begun_->snapshot}));
  }
  if (shards_ && !shards_->of_ps[ps]) {
    frames.push_back(small_frame({.kind = FrameKind::ask_shard, .snapshot = shards_->request.step},
                                 encode_numbers(shards_->request.keep_steps)));
  }
  if (weights_ && !arenas_.chunks_of(ps).empty()) {
    frames.push_back(small_frame({.kind = FrameKind::ask_weights, .snapshot = weights_->snapshot}));
  }
  if (!leaving_ || released_[ps]) return frames;
  if (leaving_ == Leaving::chief) frames.push_back(small_frame({.kind = FrameKind::finish}));
  frames.push_back(small_frame({.kind = FrameKind::goodbye}));
  return frames;
}

Result<std::span<std::byte>> LinkRequests::place(std::size_t ps, const FrameHeader& header) {
  if (header.kind == FrameKind::shard || header.flag) {
    if (header.bytes > list_payload_bytes_max) return invalid("a shard of many ranks");
    lists_[ps].resize(header.bytes);
    return std::span(lists_[ps]);
  }
  const auto& own = arenas_.chunks_of(ps);
  if (header.chunk >= own.size()) return invalid("there is no such chunk");
  const Range& range = arenas_.range_of(own[header.chunk]);
  if (header.bytes != index_of(range.size()) * sizeof(float)) {
    return invalid("weights of another length");
  }
  // Not in the arena, which may be taken while they come.
  lists_[ps].resize(header.bytes);
  return std::span(lists_[ps]);
}

Status LinkRequests::take(std::size_t ps, const FrameHeader& header,
                          std::span<const std::byte> payload) {
  switch (header.kind) {
    case FrameKind::shard: return take_shard(ps, header, payload);
    case FrameKind::weights: return take_weights_of(ps, header, payload);
    case FrameKind::released:
      if (!leaving_) return invalid("nobody leaves");
      released_[ps] = true;
      return ok();
    default: return invalid("a ps does not say that");
  }
}

Status LinkRequests::take_shard(std::size_t ps, const FrameHeader& header,
                                std::span<const std::byte> payload) {
  if (!shards_ || shards_->request.step != header.snapshot) return ok();  // asked for twice
  if (header.flag) {
    shards_->of_ps[ps] = decode_error(payload);
    return ok();
  }
  TRY_ASSIGN(shards_->of_ps[ps], decode_shard(payload));
  return ok();
}

Status LinkRequests::take_weights_of(std::size_t ps, const FrameHeader& header,
                                     std::span<const std::byte> payload) {
  if (!weights_ || weights_->snapshot != header.snapshot) return ok();
  if (header.flag) {
    weights_->error = decode_error(payload);
    return ok();
  }
  const std::int64_t chunk = arenas_.chunks_of(ps)[header.chunk];
  const auto begin = index_of(arenas_.range_of(chunk).begin);
  std::ranges::copy(payload, std::as_writable_bytes(weights_->arena.span().subspan(begin)).begin());
  weights_->missing[index_of(chunk)] = false;
  return ok();
}

bool LinkRequests::has_shards() const {
  if (!shards_) return false;
  const auto is_there = [](const auto& shard) { return shard.has_value(); };
  const auto is_refused = [](const auto& shard) { return shard && !shard->has_value(); };
  return std::ranges::all_of(shards_->of_ps, is_there) ||
         std::ranges::any_of(shards_->of_ps, is_refused);
}

Result<std::vector<WrittenShard>> LinkRequests::take_shards() {
  begun_.reset();
  const Shards answered = *std::exchange(shards_, std::nullopt);
  std::vector<WrittenShard> shards;
  for (const auto& shard : answered.of_ps) {
    if (!shard) continue;  // another one was refused
    TRY_ASSIGN(const WrittenShard written, *shard);
    shards.push_back(written);
  }
  ENSURE(shards.size() == answered.of_ps.size());
  return shards;
}

bool LinkRequests::has_weights() const {
  if (!weights_) return false;
  return weights_->error || std::ranges::find(weights_->missing, true) == weights_->missing.end();
}

Result<AlignedBuffer> LinkRequests::take_weights() {
  Weights answered = *std::exchange(weights_, std::nullopt);
  if (answered.error) return *answered.error;
  return std::move(answered.arena);
}

bool LinkRequests::is_released() const {
  return std::ranges::find(released_, false) == released_.end();
}

}  // namespace trainyard::runtime
