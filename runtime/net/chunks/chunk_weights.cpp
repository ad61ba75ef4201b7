#include "runtime/net/chunks/chunk_weights.h"

#include <algorithm>
#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

ChunkWeights::ChunkWeights(StoreLayoutPtr layout, const AlignedBuffer& first)
    : layout_(std::move(layout)),
      shared_(make_shared_memory()),
      chunks_(index_of(layout_->chunks())),
      own_(index_of(layout_->ranks()), std::vector<VersionPtr>(chunks_.size())) {
  ENSURE(std::ssize(first.span()) == layout_->elements());
  const bool rounds = layout_->rules().pull == Wire::bfloat16;
  pool_ = std::make_shared<Pool<Version>>([count = index_of(layout_->largest_chunk()), rounds] {
    return Version{AlignedBuffer(count), AlignedBuffer(rounds ? (count + 1) / 2 : 0)};
  });
  for (std::int64_t i = 0; i < layout_->chunks(); ++i) {
    Chunk& chunk = chunks_[index_of(i)];
    chunk.version = layout_->rules().version;
    chunk.newest = shared_ ? shared_place(i, chunk.version) : pool_->take();
    const Range place = layout_->place_of(i);
    std::ranges::copy(first.span().subspan(index_of(place.begin), index_of(place.size())),
                      chunk.newest->master.data());
    round(i, *chunk.newest);
  }
}

// Only what all ranks read in the same step can lie in one place.
std::optional<SharedFloats> ChunkWeights::make_shared_memory() const {
  const StoreRules& rules = layout_->rules();
  const bool is_one_for_all = versions_kept(rules.mode, rules.aggregate > 0) == 2 &&
                              rules.pull == Wire::float32 && rules.holders == 1 &&
                              layout_->elements() == rules.arena_elements;
  if (!is_one_for_all) return std::nullopt;
  auto made = SharedFloats::create(SharedWeights{layout_->elements()}.floats(),
                                   SharedFloats::Writers::maker);
  if (made.has_value()) return *std::move(made);
  log_warning("no shared memory", {{"message", made.error().message}});
  return std::nullopt;
}

ChunkWeights::VersionPtr ChunkWeights::shared_place(std::int64_t chunk,
                                                    std::int64_t version) const {
  const Range& range = layout_->range_of(chunk);
  const std::shared_ptr<float> whole = shared_->memory();
  const std::size_t begin =
      SharedWeights{layout_->elements()}.begin_of(version) + index_of(range.begin);
  return std::make_shared<Version>(Version{
      AlignedBuffer(std::shared_ptr<float>(whole, whole.get() + begin), index_of(range.size())),
      {}});
}

// Async: who pushes is sent what it makes, so that may be made where it goes.
ChunkWeights::VersionPtr ChunkWeights::place_of_rank(const UpdateChunk& what,
                                                     const SharedArenasPtr& memory) {
  if (!memory || layout_->rules().pull != Wire::float32) return nullptr;
  const Range& range = layout_->range_of(what.chunk);
  float* const place = memory->memory.data() + range.begin;
  VersionPtr& own = own_[index_of(what.ranks.front())][index_of(what.chunk)];
  if (!own || own->master.data() != place) {  // or its process has called anew
    own = std::make_shared<Version>(
        Version{AlignedBuffer(std::shared_ptr<float>(memory, place), index_of(range.size())), {}});
  }
  return own;
}

ChunkWeights::VersionPtr ChunkWeights::begin(const UpdateChunk& what,
                                             const SharedArenasPtr& memory) {
  const Chunk& chunk = at(what.chunk);
  ENSURE(what.version == chunk.version + 1);
  if (shared_) return chunk.previous ? chunk.previous : shared_place(what.chunk, what.version);
  if (layout_->rules().mode == Mode::async) {
    if (auto own = place_of_rank(what, memory)) return own;
    // No rank is sent a version that is not the newest; what a rank reads is known as its own, too.
    if (chunk.newest.use_count() == 1) return chunk.newest;
  }
  const bool is_free = chunk.previous && chunk.previous.use_count() == 1;
  return is_free ? chunk.previous : pool_->take();
}

void ChunkWeights::finish(const UpdateChunk& what, VersionPtr next) {
  round(what.chunk, *next);
  Chunk& chunk = chunks_.at(index_of(what.chunk));
  if (next != chunk.newest) chunk.previous = std::exchange(chunk.newest, std::move(next));
  chunk.version = what.version;
}

void ChunkWeights::round(std::int64_t chunk, Version& version) const {
  if (layout_->pull_of(chunk) != Wire::bfloat16) return;
  const auto count = index_of(layout_->range_of(chunk).size());
  auto* const halves = reinterpret_cast<std::uint16_t*>(version.rounded.data());
  encode_bfloat16(version.master.span().first(count), {halves, count});
}

std::span<const float> ChunkWeights::newest(std::int64_t chunk) const {
  return at(chunk).newest->master.span().first(index_of(layout_->range_of(chunk).size()));
}

bool ChunkWeights::is_exact(const ParameterServer::ChunkToSend& what) const {
  return layout_->rules().pull != Wire::float32 && what.version >= layout_->rules().exact_from;
}

bool ChunkWeights::rounds(const ParameterServer::ChunkToSend& what) const {
  return layout_->pull_of(what.chunk) == Wire::bfloat16 && !is_exact(what);
}

bool ChunkWeights::is_lent(std::int64_t chunk) const {
  const VersionPtr& newest = at(chunk).newest;
  return std::ranges::any_of(own_, [&](const std::vector<VersionPtr>& of_rank) {
    return of_rank[index_of(chunk)] == newest;
  });
}

// What lies in a worker's memory may be overwritten before it has left.
ChunkBytes ChunkWeights::parameters(const ParameterServer::ChunkToSend& what) {
  if (layout_->rules().mode == Mode::async && is_lent(what.chunk)) {
    VersionPtr copy = pool_->take();
    std::ranges::copy(newest(what.chunk), copy->master.data());
    chunks_[index_of(what.chunk)].newest = std::move(copy);
  }
  return bytes_of(what);
}

ChunkBytes ChunkWeights::bytes_of(const ParameterServer::ChunkToSend& what) const {
  const Chunk& chunk = at(what.chunk);
  const VersionPtr& weights = what.version < chunk.version ? chunk.previous : chunk.newest;
  ENSURE(weights != nullptr);
  const auto count = index_of(layout_->range_of(what.chunk).size());
  const bool is_rounded = rounds(what);
  const auto bytes = std::as_bytes(is_rounded ? weights->rounded.span() : weights->master.span());
  const std::size_t size = is_rounded ? sizeof(std::uint16_t) : sizeof(float);
  return {bytes.first(count * size), weights};
}

void ChunkWeights::write_parameters(const ParameterServer::ChunkToSend& what,
                                    SharedArenas& arenas) const {
  const Range& range = layout_->range_of(what.chunk);
  const auto count = index_of(range.size());
  const ChunkBytes bytes = bytes_of(what);
  if (rounds(what) && arenas.layout.stay_rounded) {
    const auto memory = std::as_writable_bytes(arenas.memory.span());
    const std::size_t at = arenas.layout.rounded_byte(what.version, range.begin);
    std::ranges::copy(bytes.bytes, memory.subspan(at).begin());
    return;
  }
  const std::size_t begin = arenas.layout.parameters_begin(what.version);
  const auto place = arenas.memory.span().subspan(begin + index_of(range.begin), count);
  if (bytes.bytes.data() == std::as_bytes(place).data()) return;  // they were made there
  if (rounds(what)) {
    decode_bfloat16({reinterpret_cast<const std::uint16_t*>(bytes.bytes.data()), count}, place);
  } else {
    std::ranges::copy(bytes.bytes, std::as_writable_bytes(place).begin());
  }
}

}  // namespace trainyard::runtime
