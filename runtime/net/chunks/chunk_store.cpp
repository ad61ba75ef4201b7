#include "runtime/net/chunks/chunk_store.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "runtime/net/tree_sum.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

ChunkStore::ChunkStore(Rules rules, const AlignedBuffer& weights,
                       const std::vector<AlignedBuffer>& slots)
    : layout_(std::make_shared<const StoreLayout>(std::move(rules))),
      weights_(layout_, weights),
      gradients_(layout_),
      restored_(layout_),
      copies_(layout_) {
  ENSURE(slots.size() == slot_names(layout_->rules().optimizer.kind).size());
  for (const AlignedBuffer& slot : slots) {
    ENSURE(std::ssize(slot.span()) == layout_->elements());
    std::ranges::copy(slot.span(), slots_.emplace_back(slot.size()).data());
  }
}

void ChunkStore::measure(const MeasureChunk& what) {
  if (measured_ != what.version) squares_ = {};
  measured_ = what.version;
  alignas(64) std::array<float, TreeSum::stretch> room;
  TreeSum sum = gradients_.sum_of(what.chunk, what.ranks);
  const auto& [begin, end] = layout_->range_of(what.chunk);
  for (std::int64_t at = begin; at < end; at += TreeSum::stretch) {
    const auto length = index_of(std::min<std::int64_t>(TreeSum::stretch, end - at));
    layout_->rules().update.add_squares(at, sum.next(std::span(room).first(length)), squares_);
  }
}

void ChunkStore::update(const UpdateChunk& what, const UpdateScale& scale) {
  bring(what.chunk);
  auto next = weights_.begin(what, gradients_.memory_of(what.ranks.front(), what.chunk));
  const UpdateStep step = step_of(what, scale);
  const bool is_elsewhere = lives_elsewhere(what.chunk);
  if (is_elsewhere) {
    apply_elsewhere(what, step);
  } else {
    apply(what, step, next->master.span());
  }
  for (const std::int64_t rank : what.ranks) {
    gradients_.give_back(rank, what.chunk);
    restored_.forget(rank, what.chunk);
  }
  if (is_elsewhere) {
    under_way_.push_back({what, std::move(next)});
  } else {
    weights_.finish(what, std::move(next));
  }
}

UpdateStep ChunkStore::step_of(const UpdateChunk& what, const UpdateScale& scale) const {
  const StoreRules& rules = layout_->rules();
  UpdateStep step{
      .learning_rate = scale.learning_rate,
      .number = what.version,
      .gradient_scale = mean_factor(
          rules.mean_over, gradients_.denominator_of(what.chunk, what.ranks), scale.gradient_scale),
      .average_scale = scale.gradient_scale};
  if (rules.clip_norm > 0) {
    const double squares = all_squares_ ? *all_squares_ : squares_.value();
    step.gradient_scale *= clip_factor(squares, step.gradient_scale, rules.clip_norm);
  }
  return step;
}

// Stretch by stretch, so that sum and update meet in the cache.
void ChunkStore::apply(const UpdateChunk& what, const UpdateStep& step, std::span<float> next) {
  alignas(64) std::array<float, TreeSum::stretch> room;
  std::vector<std::span<float>> slots(slots_.size());
  const StoreRules& rules = layout_->rules();
  const std::int64_t in_arena = layout_->range_of(what.chunk).begin;
  TreeSum sum = gradients_.sum_of(what.chunk, what.ranks);
  const std::span<const float> before = weights_.newest(what.chunk);
  const std::size_t offset = index_of(layout_->place_of(what.chunk).begin);
  Copy* const copy = what.updates_copy ? copies_.newest_of(what.chunk) : nullptr;
  for (std::size_t begin = 0; begin < before.size(); begin += room.size()) {
    const std::size_t length = std::min(room.size(), before.size() - begin);
    const std::size_t at = offset + begin;
    const auto gradient = sum.next(std::span(room).first(length));
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = slots_[i].span().subspan(at, length);
    const std::int64_t first = in_arena + static_cast<std::int64_t>(begin);
    rules.update.apply(rules.optimizer, step, first,
                       {.gradient = gradient,
                        .weights = before.subspan(begin, length),
                        .out = next.subspan(begin, length),
                        .slots = slots});
    if (copy == nullptr) continue;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = copy->slots[i].span().subspan(at, length);
    }
    const auto copied = copy->weights.span().subspan(at, length);
    rules.update.apply(rules.optimizer, step, first,
                       {.gradient = gradient, .weights = copied, .out = copied, .slots = slots});
  }
}

ResidentShare::Part ChunkStore::part_of(std::int64_t chunk) const {
  const Range& in_arena = layout_->range_of(chunk);
  return {.in_share = layout_->place_of(chunk).begin,
          .in_arena = in_arena.begin,
          .count = in_arena.size()};
}

// The sum is added up where it leaves from.
void ChunkStore::apply_elsewhere(const UpdateChunk& what, const UpdateStep& step) {
  ENSURE(!what.updates_copy);
  if (under_way_.size() == resident_->parts_max()) take_oldest();
  const ResidentShare::Part part = part_of(what.chunk);
  const std::span<float> room = resident_->room(part.count);
  TreeSum sum = gradients_.sum_of(what.chunk, what.ranks);
  for (std::size_t begin = 0; begin < room.size(); begin += TreeSum::stretch) {
    const auto here = room.subspan(begin, std::min(TreeSum::stretch, room.size() - begin));
    const std::span<const float> there = sum.next(here);
    if (there.data() != here.data()) std::ranges::copy(there, here.begin());
  }
  resident_->update(part, step);
}

void ChunkStore::take_oldest() {
  auto& [what, next] = under_way_.front();
  resident_->take(next->master.span().first(index_of(layout_->range_of(what.chunk).size())));
  weights_.finish(what, std::move(next));
  under_way_.pop_front();
}

void ChunkStore::bring(std::int64_t chunk) {
  const auto is_of_chunk = [chunk](const UnderWay& each) { return each.what.chunk == chunk; };
  while (std::ranges::any_of(under_way_, is_of_chunk)) take_oldest();
}

void ChunkStore::bring_slots(std::int64_t chunk) {
  if (!lives_elsewhere(chunk) || slots_.empty()) return;
  while (!under_way_.empty()) take_oldest();
  const ResidentShare::Part part = part_of(chunk);
  std::vector<std::span<float>> slots;
  for (AlignedBuffer& slot : slots_) {
    slots.push_back(slot.span().subspan(index_of(part.in_share), index_of(part.count)));
  }
  resident_->fetch_slots(part, slots);
}

void ChunkStore::copy(const CopyChunk& what) {
  bring(what.chunk);
  bring_slots(what.chunk);
  copies_.copy(what, {weights_, slots_});
}

ChunkStore::Copy ChunkStore::copy_all() {
  while (!under_way_.empty()) take_oldest();
  for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) bring_slots(chunk);
  Copy copy = copies_.copy_all({weights_, slots_});
  restored_.put_unused(copy.residuals);
  return copy;
}

}  // namespace trainyard::runtime
