#include "runtime/graph/device_share.h"

#include <algorithm>
#include <utility>

#include "runtime/graph/device_memory.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

// Enough for copies in both directions and updates to go on at once.
constexpr std::size_t pieces = 16;

}  // namespace

std::unique_ptr<DeviceShare> DeviceShare::open(std::unique_ptr<Device> device, Rules rules,
                                               std::span<const float> weights,
                                               std::span<const AlignedBuffer> slots) {
  Device& opened = *device;
  std::unique_ptr<DeviceShare> made(
      new DeviceShare(std::move(device), std::move(rules), weights.size()));
  if (!made->has_room(slots.size())) return nullptr;
  try {
    made->move_in(weights, slots);
    return made;
  } catch (const DeviceFailed&) {
    require_sound(opened);
    return nullptr;
  }
}

DeviceShare::DeviceShare(std::unique_ptr<Device> device, Rules rules, std::size_t elements)
    : device_(std::move(device)),
      rules_(std::move(rules)),
      elements_(elements),
      part_elements_(index_of(rules_.part_max)),
      weights_(*device_) {}

DeviceShare::~DeviceShare() { device_->wait(device_->mark()); }

bool DeviceShare::has_room(std::size_t slots) const {
  const std::size_t elements = (1 + slots) * elements_ + pieces * part_elements_;
  return device_->free_bytes() >= elements * sizeof(float) + rules_.spare_bytes;
}

void DeviceShare::move_in(std::span<const float> weights, std::span<const AlignedBuffer> slots) {
  while (pieces_.size() < pieces) {
    Piece& piece = pieces_.emplace_back(*device_);
    static_cast<void>(on_host(piece));
    piece.gradient.floats(part_elements_);
  }
  bring(weights, weights_.floats(elements_));
  for (const AlignedBuffer& slot : slots) {
    ENSURE(slot.size() >= elements_);
    bring(slot.span().first(elements_), slots_.emplace_back(*device_).floats(elements_));
  }
  device_->wait(device_->mark());
  require_sound(*device_);
}

void DeviceShare::bring(std::span<const float> from, float* to) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < from.size(); at += part_elements_) {
    const auto part = from.subspan(at, std::min(part_elements_, from.size() - at));
    Piece& piece = pieces_[next++ % pieces_.size()];
    device_->wait(piece.done);
    std::ranges::copy(part, on_host(piece));
    device_->upload(on_host(piece), to + at, part.size_bytes());
    piece.done = device_->mark();
  }
}

std::span<float> DeviceShare::room(std::int64_t count) {
  ENSURE(under_way_ < pieces_.size() && index_of(count) <= part_elements_);
  Piece& piece = pieces_[(oldest_ + under_way_) % pieces_.size()];
  return {on_host(piece), index_of(count)};
}

void DeviceShare::update(const Part& part, const UpdateStep& step) {
  ENSURE(under_way_ < pieces_.size() && index_of(part.count) <= part_elements_);
  Piece& piece = pieces_[(oldest_ + under_way_++) % pieces_.size()];
  const std::size_t bytes = index_of(part.count) * sizeof(float);
  const float* const gradient = piece.gradient.floats(part_elements_);
  device_->upload(on_host(piece), piece.gradient.floats(part_elements_), bytes);
  const auto change = [&](const ArenaUpdate::Changed& changed) {
    const std::int64_t in_part = changed.begin - part.in_arena;
    float* const weights = weights_.floats(elements_) + part.in_share + in_part;
    UpdatedArrays arrays{.gradient = gradient + in_part,
                         .weights = weights,
                         .out = weights,
                         .slots = {},
                         .scale = changed.gradient_scale,
                         .decay = changed.weight_decay};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      arrays.slots[i] = slots_[i].floats(elements_) + part.in_share + in_part;
    }
    device_->update({.rule = changed.rule, .arrays = arrays, .count = changed.end - changed.begin});
  };
  rules_.update.for_each_changed(rules_.optimizer, step, part.in_arena, part.in_arena + part.count,
                                 change);
  device_->download(weights_.floats(elements_) + part.in_share, on_host(piece), bytes);
  piece.done = device_->mark();
}

void DeviceShare::take(std::span<float> weights) {
  ENSURE(under_way_ > 0);
  Piece& piece = pieces_[oldest_];
  wait(piece.done);
  std::copy_n(on_host(piece), weights.size(), weights.begin());
  oldest_ = (oldest_ + 1) % pieces_.size();
  --under_way_;
}

void DeviceShare::fetch_slots(const Part& part, std::span<const std::span<float>> slots) {
  ENSURE(under_way_ == 0 && slots.size() == slots_.size() && slots.size() <= pieces_.size());
  const std::size_t bytes = index_of(part.count) * sizeof(float);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    device_->download(slots_[i].floats(elements_) + part.in_share, on_host(pieces_[i]), bytes);
  }
  wait(device_->mark());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::copy_n(on_host(pieces_[i]), slots[i].size(), slots[i].begin());
  }
}

void DeviceShare::wait(std::uint64_t mark) {
  device_->wait(mark);
  if (device_->failure() != nullptr) throw ShareFailed(device_->failure());
}

}  // namespace trainyard::runtime
