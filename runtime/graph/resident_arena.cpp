#include "runtime/graph/resident_arena.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t register_bytes =
    static_cast<std::size_t>(square_registers) * sizeof(ExactSum::Words);

}  // namespace

ResidentArena::ResidentArena(std::shared_ptr<DeviceMemory> memory, std::span<const float> weights,
                             std::span<const AlignedBuffer> slots)
    : memory_(std::move(memory)),
      elements_(weights.size()),
      weights_(memory_->device()),
      registers_(memory_->device()) {
  Staging& staging = memory_->staging();
  float* const here = weights_.floats(elements_);
  for (const AlignedBuffer& slot : slots) {
    ENSURE(slot.size() == elements_);
    slots_.emplace_back(memory_->device()).floats(elements_);
  }
  staging.upload(weights.data(), here, weights.size_bytes());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    staging.upload(slots[i].data(), slots_[i].floats(elements_), weights.size_bytes());
  }
  registers_.of(register_bytes);
  // Padding, and what no op has a gradient for: nobody writes there.
  memory_->device().fill(memory_->gradients().data(), 0.0F, elements_);
  require_sound(memory_->device());
  memory_->keep(weights, {here, elements_});
}

ResidentArena::~ResidentArena() {
  memory_->forget();
  memory_->device().wait(memory_->device().mark());
}

void ResidentArena::update(const ArenaUpdate& rules, const OptimizerConfig& optimizer,
                           const UpdateStep& step) {
  Device& device = memory_->device();
  const auto change = [&](const ArenaUpdate::Changed& part) {
    float* const weights = weights_.floats(elements_) + part.begin;
    UpdatedArrays arrays{.gradient = memory_->total() + part.begin,
                         .weights = weights,
                         .out = weights,
                         .slots = {},
                         .scale = part.gradient_scale,
                         .decay = part.weight_decay};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      arrays.slots[i] = slots_[i].floats(elements_) + part.begin;
    }
    device.update({.rule = part.rule, .arrays = arrays, .count = part.end - part.begin});
  };
  rules.for_each_changed(optimizer, step, 0, static_cast<std::int64_t>(elements_), change);
}

void ResidentArena::add_squares(const ArenaUpdate& rules, ExactSum& squares) {
  Device& device = memory_->device();
  float* const zeros = registers_.floats(register_bytes / sizeof(float));
  auto* const registers = reinterpret_cast<std::uint64_t*>(zeros);
  device.fill(zeros, 0.0F, register_bytes / sizeof(float));
  const float* const gradient = memory_->total();
  const auto add = [&](std::int64_t first, std::int64_t last) {
    device.add_squares(registers, gradient + first, static_cast<std::size_t>(last - first));
  };
  rules.for_each_optimized(0, static_cast<std::int64_t>(elements_), add);
  fetched_registers_.resize(static_cast<std::size_t>(square_registers));
  Staging& staging = memory_->staging();
  staging.download(registers, fetched_registers_.data(), register_bytes);
  staging.wait(staging.mark());
  require_sound(device);
  for (const ExactSum::Words& sum : fetched_registers_) squares += ExactSum(sum);
}

void ResidentArena::fetch_weights(std::span<float> to) { fetch(weights_.floats(elements_), to); }

void ResidentArena::fetch_slots(std::span<AlignedBuffer> to) {
  ENSURE(to.size() == slots_.size());
  for (std::size_t i = 0; i < to.size(); ++i) fetch(slots_[i].floats(elements_), to[i].span());
}

void ResidentArena::fetch_gradient(std::int64_t begin, std::span<float> to) {
  fetch(memory_->total() + begin, to);
}

void ResidentArena::fetch(const float* from, std::span<float> to) {
  Staging& staging = memory_->staging();
  staging.download(from, to.data(), to.size_bytes());
  staging.wait(staging.mark());
  require_sound(memory_->device());
}

}  // namespace trainyard::runtime
