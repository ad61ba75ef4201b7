// Gradients are walked in blocks that stay in the cache from the network's slices to the new
// weights.
#include "runtime/net/parameter_shard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// What a thread takes at a time, in floats: 1 MiB of weights, some 100 us of work.
constexpr std::int64_t kPartElements = 64 * TreeSum::block;

}  // namespace

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  BufferPool(std::size_t elements, ParameterShard::MakeBuffer make)
      : elements_(elements), make_(std::move(make)) {}

  // A buffer of any content, returned to the pool when the last reference to it goes.
  std::shared_ptr<AlignedBuffer> take() { return give(spare()); }

  std::shared_ptr<AlignedBuffer> give(AlignedBuffer buffer) {
    auto give_back = [pool = weak_from_this()](AlignedBuffer* returned) {
      if (const auto alive = pool.lock()) alive->keep(std::move(*returned));
      delete returned;
    };
    return {new AlignedBuffer(std::move(buffer)), std::move(give_back)};
  }

 private:
  AlignedBuffer spare() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return make_(elements_);
    AlignedBuffer buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }

  void keep(AlignedBuffer buffer) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(buffer));
  }

  const std::size_t elements_;
  const ParameterShard::MakeBuffer make_;
  std::mutex mutex_;
  std::vector<AlignedBuffer> spare_;  // guarded by mutex_; as many as were ever in use at once
};

ParameterShard::ParameterShard(const OptimizerConfig& optimizer, AlignedBuffer weights,
                               std::vector<AlignedBuffer> slots)
    : optimizer_(optimizer),
      pool_(std::make_shared<BufferPool>(
          weights.size(), [](std::size_t elements) { return AlignedBuffer(elements); })),
      slots_(std::move(slots)) {
  ENSURE(slots_.size() == slot_names(optimizer.kind).size());
  for (const AlignedBuffer& slot : slots_) ENSURE(slot.size() == weights.size());
  weights_ = pool_->give(std::move(weights));
}

ParameterShard::ParameterShard(const OptimizerConfig& optimizer, Weights weights,
                               std::vector<AlignedBuffer> slots)
    : optimizer_(optimizer),
      pool_(std::make_shared<BufferPool>(
          weights->size(), [](std::size_t elements) { return AlignedBuffer(elements); })),
      weights_(std::move(weights)),
      slots_(std::move(slots)) {}

ParameterShard ParameterShard::fork() const { return {optimizer_, weights_, copy_of(slots_)}; }

void ParameterShard::move_to(MakeBuffer make) {
  pool_ = std::make_shared<BufferPool>(weights_->size(), std::move(make));
  std::shared_ptr<AlignedBuffer> here = pool_->take();
  std::ranges::copy(weights_->span(), here->span().begin());
  weights_ = std::move(here);
}

void ParameterShard::apply(const SumFrom& gradient, const Update& update) {
  const std::shared_ptr<AlignedBuffer> next = pool_->take();
  const auto part = [&](std::size_t i) {
    const auto begin = static_cast<std::int64_t>(i) * kPartElements;
    const Range range{begin, std::min(begin + kPartElements, elements())};
    apply_range(gradient(static_cast<std::size_t>(begin)), update, range, next->span());
  };
  const auto parts = static_cast<std::size_t>((elements() + kPartElements - 1) / kPartElements);
  if (team_ && parts > 1) {
    team_->run(parts, part);
  } else {
    for (std::size_t i = 0; i < parts; ++i) part(i);
  }
  weights_ = next;
}

void ParameterShard::apply_range(TreeSum gradient, const Update& update, Range range,
                                 std::span<float> next) {
  std::vector<std::span<float>> slots(slots_.size());
  alignas(64) std::array<float, TreeSum::block> block;
  const auto end = static_cast<std::size_t>(range.end);
  for (auto begin = static_cast<std::size_t>(range.begin); begin < end; begin += block.size()) {
    const std::size_t count = std::min(block.size(), end - begin);
    const auto sum = std::span(block).first(count);
    gradient.read(sum);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i] = slots_[i].span().subspan(begin, count);
    }
    apply_update(optimizer_, update.learning_rate, update.step, update.gradient_scale, sum,
                 weights_->span().subspan(begin, count), next.subspan(begin, count), slots);
  }
}

std::vector<AlignedBuffer> copy_of(const std::vector<AlignedBuffer>& buffers) {
  std::vector<AlignedBuffer> copies;
  copies.reserve(buffers.size());
  for (const AlignedBuffer& buffer : buffers) {
    std::ranges::copy(buffer.span(), copies.emplace_back(buffer.size()).span().begin());
  }
  return copies;
}

}  // namespace trainyard::runtime
