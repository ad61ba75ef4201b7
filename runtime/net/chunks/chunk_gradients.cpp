#include "runtime/net/chunks/chunk_gradients.h"

#include <utility>

#include "runtime/net/wire_format.h"

namespace trainyard::runtime {
namespace {

// Payloads begin where any float may.
std::int64_t round_up_to_line(std::int64_t bytes) {
  constexpr auto line = static_cast<std::int64_t>(alignment_bytes);
  return (bytes + line - 1) / line * line;
}

std::vector<Leaves> single_leaves(std::int64_t count) {
  std::vector<Leaves> leaves;
  for (std::int64_t leaf = 0; leaf < count; ++leaf) leaves.push_back({leaf, leaf + 1});
  return leaves;
}

std::vector<std::int64_t> order_of_step(const StoreRules& rules) {
  if (rules.mode == Mode::async) return {};
  if (rules.aggregate > 0) return addition_order(single_leaves(rules.aggregate), rules.aggregate);
  std::vector<Leaves> all;
  for (const auto& own : rules.nodes) all.insert(all.end(), own.begin(), own.end());
  return addition_order(all, rules.leaves);
}

}  // namespace

ChunkGradients::ChunkGradients(StoreLayoutPtr layout)
    : layout_(std::move(layout)),
      order_(order_of_step(layout_->rules())),
      lent_(index_of(layout_->ranks()), std::vector<SharedArenasPtr>(index_of(layout_->chunks()))),
      denominators_(index_of(layout_->ranks()),
                    std::vector<std::int64_t>(index_of(layout_->chunks()))) {
  const StoreRules& rules = layout_->rules();
  for (std::int64_t rank = 0; rank < layout_->ranks(); ++rank) {
    if (rules.mode == Mode::async) {
      rank_order_.push_back(addition_order(rules.nodes[index_of(rank)], rules.leaves));
    }
    std::int64_t bytes = 0;
    auto& places = places_.emplace_back();
    for (std::int64_t chunk = 0; chunk < layout_->chunks(); ++chunk) {
      places.push_back(bytes);
      const auto length = layout_->gradient_bytes_of(rank, chunk);
      bytes += round_up_to_line(static_cast<std::int64_t>(length));
    }
    own_.emplace_back(index_of(bytes / float_bytes));
  }
}

std::span<std::byte> ChunkGradients::place(std::int64_t rank, std::int64_t chunk) {
  const auto bytes = std::as_writable_bytes(own_.at(index_of(rank)).span());
  const std::int64_t begin = places_[index_of(rank)].at(index_of(chunk));
  return bytes.subspan(index_of(begin), layout_->gradient_bytes_of(rank, chunk));
}

void ChunkGradients::came(const Came& gradient, SharedArenasPtr memory) {
  const std::size_t chunk = index_of(gradient.chunk);
  lent_.at(index_of(gradient.rank)).at(chunk) = std::move(memory);
  denominators_[index_of(gradient.rank)][chunk] = gradient.denominator;
}

std::int64_t ChunkGradients::denominator_of(std::int64_t chunk,
                                            std::span<const std::int64_t> ranks) const {
  std::int64_t sum = 0;
  for (const std::int64_t rank : ranks) sum += denominators_.at(index_of(rank)).at(index_of(chunk));
  return sum;
}

Payload ChunkGradients::payload_of(std::int64_t rank, std::int64_t chunk) {
  const SharedArenasPtr& lent = memory_of(rank, chunk);
  if (!lent) return {.pieces = {place(rank, chunk)}, .owner = nullptr};
  const SharedLayout& layout = lent->layout;
  const auto sent = std::as_bytes(lent->memory.span().subspan(layout.sent_begin()));
  return {.pieces = encoded_pieces(layout.encoding(), sent, layout_->share_of(chunk), layout.parts),
          .owner = lent};
}

TreeSum ChunkGradients::sum_of(std::int64_t chunk, std::span<const std::int64_t> ranks) {
  payloads_.clear();
  for (const std::int64_t rank : ranks) payloads_.push_back(payload_of(rank, chunk));
  const StoreRules& rules = layout_->rules();
  const Share& share = layout_->share_of(chunk);
  const Wire wire = layout_->push_of(chunk);
  const std::int64_t bytes = gradient_bytes(wire, share);
  std::vector<GradientReader> parts;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto count = static_cast<std::int64_t>(layout_->parts_of(ranks[i]));
    for (std::int64_t part = 0; part < count; ++part) {
      parts.emplace_back(wire, share, payloads_[i], part * bytes);
    }
  }
  const bool is_sync = rules.mode == Mode::sync;
  return {std::move(parts), is_sync ? order_ : rank_order_.at(index_of(ranks.front()))};
}

}  // namespace trainyard::runtime
