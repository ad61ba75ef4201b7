// Gradients are walked in blocks that stay in the cache from the network's slices to the new
// weights.
#include "runtime/net/parameter_shard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// What a thread takes at a time, in floats: 1 MiB of weights, some 100 us of work.
constexpr std::int64_t kPartElements = 64 * TreeSum::block;

}  // namespace

void WeightsBuffer::round(std::size_t begin, std::size_t count) {
  if (rounded_.size() == 0) return;
  auto* const halves = reinterpret_cast<std::uint16_t*>(rounded_.data());
  encode_bfloat16(span().subspan(begin, count), {halves + begin, count});
}

std::span<const std::byte> WeightsBuffer::rounded_bytes() const {
  return std::as_bytes(rounded_.span()).first(size() * sizeof(std::uint16_t));
}

namespace {

std::shared_ptr<Pool<WeightsBuffer>> weights_pool(std::size_t elements,
                                                  ParameterShard::MakeBuffer make, Wire wire) {
  return std::make_shared<Pool<WeightsBuffer>>([elements, make = std::move(make), wire] {
    return WeightsBuffer(make(elements),
                         wire == Wire::bfloat16 ? make((elements + 1) / 2) : AlignedBuffer());
  });
}

std::shared_ptr<Pool<WeightsBuffer>> plain_pool(std::size_t elements) {
  return weights_pool(
      elements, [](std::size_t count) { return AlignedBuffer(count); }, Wire::float32);
}

}  // namespace

ParameterShard::ParameterShard(const OptimizerConfig& optimizer, AlignedBuffer weights,
                               std::vector<AlignedBuffer> slots)
    : optimizer_(optimizer), pool_(plain_pool(weights.size())) {
  ENSURE(slots.size() == slot_names(optimizer.kind).size());
  for (const AlignedBuffer& slot : slots) ENSURE(slot.size() == weights.size());
  slots_pool_ = std::make_shared<Pool<std::vector<AlignedBuffer>>>(
      [count = slots.size(), elements = weights.size()] {
        std::vector<AlignedBuffer> spare;
        for (std::size_t i = 0; i < count; ++i) spare.emplace_back(elements);
        return spare;
      });
  slots_ = slots_pool_->give(std::move(slots));
  weights_ = pool_->give({std::move(weights), AlignedBuffer()});
}

ParameterShard::ParameterShard(const OptimizerConfig& optimizer, Weights weights, OwnSlots lent,
                               SlotsPool pool)
    : optimizer_(optimizer),
      pool_(plain_pool(weights->size())),
      weights_(std::move(weights)),
      slots_pool_(std::move(pool)),
      slots_(std::move(lent)),
      slots_are_lent_(!slots_->empty()) {}

ParameterShard ParameterShard::fork() {
  static_cast<void>(lend_slots());
  return {optimizer_, weights_, slots_, slots_pool_};
}

Slots ParameterShard::lend_slots() {
  ENSURE(!next_);
  slots_are_lent_ = !slots_->empty();
  return slots_;
}

void ParameterShard::move_to(MakeBuffer make, Wire wire) {
  pool_ = weights_pool(weights_->size(), std::move(make), wire);
  std::shared_ptr<WeightsBuffer> here = pool_->take();
  std::ranges::copy(weights_->span(), here->span().begin());
  here->round(0, here->size());
  weights_ = std::move(here);
}

std::shared_ptr<WeightsBuffer> ParameterShard::landing() const { return pool_->take(); }

void ParameterShard::write_in(const std::shared_ptr<WeightsBuffer>& landing) {
  ENSURE(!landing || std::ssize(landing->span()) == elements());
  if (next_ && (landing ? next_ == landing : !in_landing_)) return;
  const std::shared_ptr<WeightsBuffer> before = std::exchange(next_, landing);
  in_landing_ = landing != nullptr;
  if (!before) {
    updated_from_ = elements();
    return;
  }
  if (!next_) next_ = pool_->take();
  const auto final_from = static_cast<std::size_t>(updated_from_);
  std::ranges::copy(before->span().subspan(final_from), next_->span().subspan(final_from).begin());
}

// All that is read of lent slots is written to the spare ones in the same update: after it nobody
// needs the lent ones but who has them.
void ParameterShard::begin_update() {
  if (!next_) next_ = pool_->take();
  if (slots_are_lent_ && !next_slots_) next_slots_ = slots_pool_->take();
}

void ParameterShard::apply(const SumFrom& gradient, const Update& update) {
  const Range left{0, updated_from()};
  begin_update();
  const auto part = [&](std::size_t i) { apply_part(gradient, update, left, i); };
  const auto parts = static_cast<std::size_t>((left.size() + kPartElements - 1) / kPartElements);
  if (team_ && parts > 1) {
    team_->run(parts, part);
  } else {
    for (std::size_t i = 0; i < parts; ++i) part(i);
  }
  weights_ = std::exchange(next_, nullptr);
  if (!next_slots_) return;
  slots_ = std::exchange(next_slots_, nullptr);
  slots_are_lent_ = false;
}

void ParameterShard::apply_tail(const SumFrom& gradient, const Update& update, std::int64_t from) {
  const Range tail{from, updated_from()};
  begin_update();
  for (std::int64_t at = 0; at < tail.size(); at += kPartElements) {
    apply_part(gradient, update, tail, static_cast<std::size_t>(at / kPartElements));
  }
  updated_from_ = from;
}

void ParameterShard::apply_part(const SumFrom& gradient, const Update& update, Range range,
                                std::size_t i) {
  const std::int64_t begin = range.begin + static_cast<std::int64_t>(i) * kPartElements;
  apply_range(gradient(static_cast<std::size_t>(begin)), update,
              {begin, std::min(begin + kPartElements, range.end)}, *next_);
}

void ParameterShard::apply_range(TreeSum gradient, const Update& update, Range range,
                                 WeightsBuffer& next) {
  std::vector<std::span<float>> slots(slots_->size());
  alignas(64) std::array<float, TreeSum::block> block;
  const auto end = static_cast<std::size_t>(range.end);
  for (auto begin = static_cast<std::size_t>(range.begin); begin < end; begin += block.size()) {
    const std::size_t count = std::min(block.size(), end - begin);
    const auto sum = gradient.next(std::span(block).first(count));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto before = (*slots_)[i].span().subspan(begin, count);
      slots[i] = next_slots_ ? (*next_slots_)[i].span().subspan(begin, count) : before;
      if (next_slots_) std::ranges::copy(before, slots[i].begin());
    }
    apply_update(optimizer_, update.learning_rate, update.step, update.gradient_scale, sum,
                 weights_->span().subspan(begin, count), next.span().subspan(begin, count), slots);
    next.round(begin, count);
  }
}

}  // namespace trainyard::runtime
