#include "runtime/net/chunks/chunk_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// Payloads begin where any float may.
std::int64_t round_up_to_line(std::int64_t bytes) {
  constexpr auto line = static_cast<std::int64_t>(alignment_bytes);
  return (bytes + line - 1) / line * line;
}

std::vector<std::int64_t> order_of_leaves(std::int64_t count) {
  std::vector<Leaves> leaves;
  for (std::int64_t leaf = 0; leaf < count; ++leaf) leaves.push_back({leaf, leaf + 1});
  return addition_order(leaves, count);
}

}  // namespace

ChunkStore::ChunkStore(Rules rules, const AlignedBuffer& weights,
                       const std::vector<AlignedBuffer>& slots)
    : rules_(std::move(rules)) {
  std::int64_t largest = 0;
  for (const Range& range : rules_.chunks) {
    chunks_.push_back({.share = {.ranges = {range}},
                       .offset = elements_,
                       .version = rules_.version,
                       .newest = nullptr,
                       .previous = nullptr});
    elements_ += range.size();
    largest = std::max(largest, range.size());
  }
  ENSURE(std::ssize(weights.span()) == elements_);
  ENSURE(slots.size() == slot_names(rules_.optimizer.kind).size());
  const bool rounds = rules_.pull == Wire::bfloat16;
  pool_ = std::make_shared<Pool<Weights>>([elements = index_of(largest), rounds] {
    return Weights{AlignedBuffer(elements), AlignedBuffer(rounds ? (elements + 1) / 2 : 0)};
  });
  shared_ = share();
  for (Chunk& chunk : chunks_) {
    chunk.newest = shared_ ? shared_place(chunk, chunk.version) : pool_->take();
    const auto count = index_of(chunk.share.elements());
    std::ranges::copy(weights.span().subspan(index_of(chunk.offset), count),
                      chunk.newest->master.data());
    round(*chunk.newest, count);
  }
  for (const AlignedBuffer& slot : slots) {
    ENSURE(std::ssize(slot.span()) == elements_);
    std::ranges::copy(slot.span(), slots_.emplace_back(slot.size()).data());
  }

  std::vector<Leaves> all;
  for (std::size_t rank = 0; rank < rules_.nodes.size(); ++rank) {
    const std::vector<Leaves>& own = rules_.nodes[rank];
    ENSURE(rules_.aggregate == 0 || own.size() == 1);
    all.insert(all.end(), own.begin(), own.end());
    if (rules_.mode == Mode::async) rank_order_.push_back(addition_order(own, rules_.leaves));
    std::int64_t bytes = 0;
    auto& places = places_.emplace_back();
    for (std::int64_t chunk = 0; chunk < std::ssize(chunks_); ++chunk) {
      places.push_back(bytes);
      const auto length = gradient_bytes_of(static_cast<std::int64_t>(rank), chunk);
      bytes += round_up_to_line(static_cast<std::int64_t>(length));
    }
    gradients_.emplace_back(index_of(bytes / float_bytes));
    lent_.emplace_back(chunks_.size());
    own_.emplace_back(chunks_.size());
    restored_.emplace_back(chunks_.size());
  }
  if (rules_.mode == Mode::sync) {
    order_ = rules_.aggregate > 0 ? order_of_leaves(rules_.aggregate)
                                  : addition_order(all, rules_.leaves);
  }
}

std::size_t ChunkStore::gradient_bytes_of(std::int64_t rank, std::int64_t chunk) const {
  const std::size_t parts = rules_.nodes.at(index_of(rank)).size();
  return parts * index_of(gradient_bytes(rules_.push, chunks_.at(index_of(chunk)).share));
}

std::span<std::byte> ChunkStore::gradient_place(std::int64_t rank, std::int64_t chunk) {
  const auto bytes = std::as_writable_bytes(gradients_.at(index_of(rank)).span());
  const std::int64_t begin = places_[index_of(rank)].at(index_of(chunk));
  return bytes.subspan(index_of(begin), gradient_bytes_of(rank, chunk));
}

void ChunkStore::gradient_came(std::int64_t rank, std::int64_t chunk, SharedArenasPtr arenas) {
  lent_.at(index_of(rank)).at(index_of(chunk)) = std::move(arenas);
}

SharedLayout ChunkStore::layout_of(std::int64_t rank) const {
  return {.elements = rules_.arena_elements,
          .parts = std::ssize(rules_.nodes.at(index_of(rank))),
          .push = rules_.push};
}

std::int64_t ChunkStore::leaf_of(std::int64_t rank, std::size_t part) const {
  const std::int64_t own = rules_.nodes[index_of(rank)][part].begin;
  return rules_.mode == Mode::sync ? own : rank * rules_.leaves + own;
}

void ChunkStore::restore_residuals(const Residuals& residuals) {
  for (std::size_t rank = 0; rank < restored_.size(); ++rank) {
    std::vector<std::span<const float>> parts;
    for (std::size_t part = 0; part < rules_.nodes[rank].size(); ++part) {
      const auto found = residuals.find(leaf_of(static_cast<std::int64_t>(rank), part));
      if (found == residuals.end()) break;
      ENSURE(std::ssize(found->second.span()) == elements_);
      parts.push_back(found->second.span());
    }
    if (!has_residuals() || parts.size() < rules_.nodes[rank].size()) continue;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const auto count = index_of(chunks_[i].share.elements());
      const auto kept = std::make_shared<AlignedBuffer>(count * parts.size());
      for (std::size_t part = 0; part < parts.size(); ++part) {
        std::ranges::copy(parts[part].subspan(index_of(chunks_[i].offset), count),
                          kept->data() + part * count);
      }
      restored_[rank][i] = kept;
    }
  }
}

ChunkStore::Bytes ChunkStore::restored_residual(std::int64_t rank, std::int64_t chunk) const {
  const FloatsPtr& kept = restored_.at(index_of(rank)).at(index_of(chunk));
  if (!kept) return {};
  return {std::as_bytes(kept->span()), kept};
}

std::size_t ChunkStore::residual_bytes_of(std::int64_t rank, std::int64_t chunk) const {
  const std::size_t parts = rules_.nodes.at(index_of(rank)).size();
  return parts * index_of(chunks_.at(index_of(chunk)).share.elements()) * sizeof(float);
}

void ChunkStore::residual_came(const ResidualCame& residual, std::span<const std::byte> bytes) {
  keep_residual(residual, bytes, copies_.at(residual.snapshot).copy.residuals);
}

void ChunkStore::keep_residual(const ResidualCame& residual, std::span<const std::byte> bytes,
                               Residuals& residuals) const {
  ENSURE(bytes.size() == residual_bytes_of(residual.rank, residual.chunk));
  const Chunk& chunk = chunks_[index_of(residual.chunk)];
  const std::size_t count = index_of(chunk.share.elements());
  const std::size_t parts = rules_.nodes[index_of(residual.rank)].size();
  for (std::size_t part = 0; part < parts; ++part) {
    const auto [leaf, is_new] = residuals.try_emplace(leaf_of(residual.rank, part));
    if (is_new) leaf->second = AlignedBuffer(index_of(elements_));
    const auto to = leaf->second.span().subspan(index_of(chunk.offset), count);
    const std::size_t each = count * sizeof(float);
    std::ranges::copy(bytes.subspan(part * each, each), std::as_writable_bytes(to).begin());
  }
}

Payload ChunkStore::payload_of_gradient(std::int64_t rank, std::int64_t chunk) {
  const SharedArenasPtr& lent = lent_[index_of(rank)][index_of(chunk)];
  if (!lent) return {.pieces = {gradient_place(rank, chunk)}, .owner = nullptr};
  const SharedLayout& layout = lent->layout;
  const auto sent = std::as_bytes(lent->memory.span().subspan(layout.sent_begin()));
  return {.pieces = encoded_pieces(layout.push, sent, layout.elements,
                                   chunks_[index_of(chunk)].share, layout.parts),
          .owner = lent};
}

TreeSum ChunkStore::sum_of(const Chunk& chunk, std::int64_t index,
                           const std::vector<std::int64_t>& ranks) {
  payloads_.clear();
  for (const std::int64_t rank : ranks) payloads_.push_back(payload_of_gradient(rank, index));
  const std::int64_t bytes = gradient_bytes(rules_.push, chunk.share);
  std::vector<GradientReader> parts;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto count = std::ssize(rules_.nodes[index_of(ranks[i])]);
    for (std::int64_t part = 0; part < count; ++part) {
      parts.emplace_back(rules_.push, chunk.share, payloads_[i], part * bytes);
    }
  }
  const bool is_sync = rules_.mode == Mode::sync;
  return {std::move(parts), is_sync ? order_ : rank_order_.at(index_of(ranks.front()))};
}

// Only what all ranks read in the same step can lie in one place.
std::optional<SharedFloats> ChunkStore::share() const {
  const bool is_one_for_all = rules_.mode == Mode::sync && rules_.aggregate == 0 &&
                              rules_.pull == Wire::float32 && elements_ == rules_.arena_elements;
  if (!is_one_for_all) return std::nullopt;
  auto made = SharedFloats::create(SharedWeights{elements_}.floats());
  if (made.has_value()) return *std::move(made);
  log_warning("no shared memory", {{"message", made.error().message}});
  return std::nullopt;
}

ChunkStore::WeightsPtr ChunkStore::shared_place(const Chunk& chunk, std::int64_t version) const {
  const Range& range = chunk.share.ranges.front();
  const std::shared_ptr<float> whole = shared_->memory();
  float* const begin =
      whole.get() + SharedWeights{elements_}.begin_of(version) + index_of(range.begin);
  return std::make_shared<Weights>(
      Weights{AlignedBuffer(std::shared_ptr<float>(whole, begin), index_of(range.size())), {}});
}

// Async: who pushes is sent what it makes, so that may be made where it goes. Nothing while it is
// sent from there.
ChunkStore::WeightsPtr ChunkStore::place_of_rank(std::int64_t rank, const UpdateChunk& what) {
  const SharedArenasPtr& lent = lent_[index_of(rank)][index_of(what.chunk)];
  if (!lent || rules_.pull != Wire::float32) return nullptr;
  const Chunk& chunk = chunks_[index_of(what.chunk)];
  const Range& range = chunk.share.ranges.front();
  float* const place = lent->memory.data() + range.begin;
  WeightsPtr& own = own_[index_of(rank)][index_of(what.chunk)];
  const long known = 1 + (own == chunk.newest ? 1 : 0) + (own == chunk.previous ? 1 : 0);
  if (own && own.use_count() > known) return nullptr;
  if (!own || own->master.data() != place) {  // or its process has called anew
    own = std::make_shared<Weights>(
        Weights{AlignedBuffer(std::shared_ptr<float>(lent, place), index_of(range.size())), {}});
  }
  return own;
}

ChunkStore::WeightsPtr ChunkStore::place_of_next(const UpdateChunk& what) {
  const Chunk& chunk = chunks_[index_of(what.chunk)];
  if (shared_) return chunk.previous ? chunk.previous : shared_place(chunk, what.version);
  if (rules_.mode == Mode::async) {
    if (auto own = place_of_rank(what.ranks.front(), what)) return own;
    // No rank is sent a version that is not the newest; what a rank reads is known as its own, too.
    if (chunk.newest.use_count() == 1) return chunk.newest;
  }
  const bool is_free = chunk.previous && chunk.previous.use_count() == 1;
  return is_free ? chunk.previous : pool_->take();
}

void ChunkStore::round(Weights& weights, std::size_t count) const {
  if (rules_.pull != Wire::bfloat16) return;
  auto* const halves = reinterpret_cast<std::uint16_t*>(weights.rounded.data());
  encode_bfloat16(weights.master.span().first(count), {halves, count});
}

void ChunkStore::update(const UpdateChunk& what, const Step& step) {
  Chunk& chunk = chunks_.at(index_of(what.chunk));
  ENSURE(what.version == chunk.version + 1);
  WeightsPtr next = place_of_next(what);
  apply(chunk, sum_of(chunk, what.chunk, what.ranks), what, step, *next);
  for (const std::int64_t rank : what.ranks) {
    gradient_came(rank, what.chunk, nullptr);
    restored_[index_of(rank)][index_of(what.chunk)].reset();
  }
  if (next != chunk.newest) chunk.previous = std::exchange(chunk.newest, std::move(next));
  chunk.version = what.version;
}

void ChunkStore::apply(const Chunk& chunk, TreeSum sum, const UpdateChunk& what, const Step& step,
                       Weights& next) {
  alignas(64) std::array<float, TreeSum::block> room;
  std::vector<std::span<float>> slots(slots_.size());
  const auto count = index_of(chunk.share.elements());
  const auto optimize = [&](std::span<const float> gradient, std::span<const float> weights,
                            std::span<float> out) {
    apply_update(rules_.optimizer, step.learning_rate, what.version, step.gradient_scale, gradient,
                 weights, out, slots);
  };
  for (std::size_t begin = 0; begin < count; begin += room.size()) {
    const std::size_t length = std::min(room.size(), count - begin);
    const std::size_t at = index_of(chunk.offset) + begin;
    const auto gradient = sum.next(std::span(room).first(length));
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = slots_[i].span().subspan(at, length);
    optimize(gradient, chunk.newest->master.span().subspan(begin, length),
             next.master.span().subspan(begin, length));
    if (!what.updates_copy) continue;
    Copy& copy = copies_.at(chunk.snapshot).copy;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = copy.slots[i].span().subspan(at, length);
    }
    const auto copied = copy.weights.span().subspan(at, length);
    optimize(gradient, copied, copied);
  }
  round(next, count);
}

ChunkStore::Bytes ChunkStore::parameters(const ParameterServer::ChunkToSend& what) const {
  const Chunk& chunk = chunks_.at(index_of(what.chunk));
  const WeightsPtr& weights = what.version < chunk.version ? chunk.previous : chunk.newest;
  ENSURE(weights != nullptr);
  const auto count = index_of(chunk.share.elements());
  const bool rounds = this->rounds(what);
  const auto bytes = std::as_bytes(rounds ? weights->rounded.span() : weights->master.span());
  const std::size_t size = rounds ? sizeof(std::uint16_t) : sizeof(float);
  return {bytes.first(count * size), weights};
}

void ChunkStore::write_parameters(const ParameterServer::ChunkToSend& what,
                                  std::span<float> arena) const {
  const Chunk& chunk = chunks_.at(index_of(what.chunk));
  const Range& range = chunk.share.ranges.front();
  const auto count = index_of(range.size());
  const auto place = arena.subspan(index_of(range.begin), count);
  const Bytes bytes = parameters(what);
  if (bytes.bytes.data() == std::as_bytes(place).data()) return;  // they were made there
  if (rounds(what)) {
    decode_bfloat16({reinterpret_cast<const std::uint16_t*>(bytes.bytes.data()), count}, place);
  } else {
    std::ranges::copy(bytes.bytes, std::as_writable_bytes(place).begin());
  }
}

void ChunkStore::copy(const CopyChunk& what) {
  Copy& copy = copies_[what.snapshot].copy;
  if (copy.weights.size() == 0) copy = empty_copy();
  Chunk& chunk = chunks_.at(index_of(what.chunk));
  chunk.snapshot = what.snapshot;
  copy_chunk(chunk, copy);
}

ChunkStore::Copy ChunkStore::empty_copy() const {
  Copy copy{.weights = AlignedBuffer(index_of(elements_)), .slots = {}, .residuals = {}};
  for (const AlignedBuffer& slot : slots_) copy.slots.emplace_back(slot.size());
  return copy;
}

void ChunkStore::copy_chunk(const Chunk& chunk, Copy& copy) const {
  const auto begin = index_of(chunk.offset);
  const auto count = index_of(chunk.share.elements());
  std::ranges::copy(chunk.newest->master.span().first(count), copy.weights.data() + begin);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::ranges::copy(slots_[i].span().subspan(begin, count), copy.slots[i].data() + begin);
  }
}

ChunkStore::Copy ChunkStore::copy_all() const {
  Copy copy = empty_copy();
  for (const Chunk& chunk : chunks_) copy_chunk(chunk, copy);
  for (std::int64_t rank = 0; rank < std::ssize(restored_); ++rank) {
    const auto& kept = restored_[index_of(rank)];
    if (std::ranges::find(kept, nullptr) != kept.end()) continue;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
      keep_residual({rank, chunk}, restored_residual(rank, chunk).bytes, copy.residuals);
    }
  }
  return copy;
}

Range ChunkStore::place_of(std::int64_t chunk) const {
  const Chunk& asked = chunks_.at(index_of(chunk));
  return {asked.offset, asked.offset + asked.share.elements()};
}

std::optional<ChunkStore::Copy> ChunkStore::save(const SaveCopy& what) {
  const auto pending = copies_.find(what.snapshot);
  ENSURE(pending != copies_.end());
  if (++pending->second.saved < std::ssize(chunks_)) return std::nullopt;
  Copy whole = std::move(pending->second.copy);
  copies_.erase(copies_.begin(), std::next(pending));  // older ones were overtaken
  return whole;
}

}  // namespace trainyard::runtime
