#include "runtime/model/resident_parameters.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

std::unique_ptr<ResidentParameters> ResidentParameters::open(const std::vector<Model*>& models,
                                                             Leaves node,
                                                             std::span<const float> weights,
                                                             std::span<const AlignedBuffer> slots) {
  std::unique_ptr<ResidentParameters> made(
      new ResidentParameters(models.size(), node, weights.size()));
  if (!made->move_in(models, weights, slots)) return nullptr;
  if (models.size() == 1) return made;
  if (!made->has_room_for_sums()) return nullptr;
  try {
    made->reserve_sums();
    return made;
  } catch (const DeviceFailed&) {
    made->require_all_sound();
    return nullptr;
  }
}

ResidentParameters::ResidentParameters(std::size_t models, Leaves node, std::size_t elements)
    : elements_(elements), tree_({&node, 1}, static_cast<std::int64_t>(models)) {}

ResidentParameters::~ResidentParameters() {
  for (const auto& arena : arenas_) {  // before the memory that another reads
    Device& device = arena->memory().device();
    device.wait(device.mark());
  }
}

bool ResidentParameters::move_in(const std::vector<Model*>& models, std::span<const float> weights,
                                 std::span<const AlignedBuffer> slots) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::int64_t most = 1;
    for (const ReplicaTree::Piece& piece : tree_.pieces(i)) {
      most = std::max(most, piece.node.count());
    }
    if (most > 1 && !models[i]->adds_up(most)) return false;
    arenas_.push_back(models[i]->reside(weights, slots));
    if (arenas_.back() == nullptr) {
      arenas_.pop_back();
      return false;
    }
  }
  return true;
}

bool ResidentParameters::has_room_for_sums() const {
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    if (!arenas_[i]->memory().has_room_for(tree_.pieces(i).size() + 1)) return false;
  }
  return true;
}

void ResidentParameters::reserve_sums() {
  owners_.resize(tree_.places());
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    for (const ReplicaTree::Piece& piece : tree_.pieces(i)) owners_[piece.place] = i;
    arrived_.emplace_back(device(i)).floats(elements_);
  }
  for (const std::size_t owner : owners_) sums_.emplace_back(device(owner)).floats(elements_);
  ENSURE(owners_.front() == 0);
}

void ResidentParameters::keep_sum(std::size_t model, std::size_t place) {
  if (sums_.empty()) return;  // of one model its newest sum is that of all
  ENSURE(owners_[place] == model);
  device(model).copy(sum_in(place), arenas_[model]->memory().total(), elements_);
}

void ResidentParameters::add_up() {
  if (sums_.empty()) return;
  for (const ReplicaTree::Addition& addition : tree_.additions()) {
    const std::size_t left = owners_[addition.left];
    const std::size_t right = owners_[addition.right];
    const float* more = sum_in(addition.right);
    if (left != right) {
      device(left).copy_from(device(right), arrived(left), more, elements_);
      more = arrived(left);
    }
    device(left).add(sum_in(addition.left), more, elements_);
  }
  spread();
}

// By what is made for it, or each that has it gives it to one that has not, so with eight in three
// rounds.
void ResidentParameters::spread() {
  arenas_.front()->memory().set_total(sum_in(0));
  if (broadcast()) {
    for (std::size_t i = 1; i < arenas_.size(); ++i) arenas_[i]->memory().set_total(arrived(i));
    return;
  }
  for (std::size_t have = 1; have < arenas_.size(); have *= 2) {
    for (std::size_t from = 0; from < have && from + have < arenas_.size(); ++from) {
      const std::size_t to = from + have;
      device(to).copy_from(device(from), arrived(to), arenas_[from]->memory().total(), elements_);
      arenas_[to]->memory().set_total(arrived(to));
    }
  }
}

void ResidentParameters::update(const ArenaUpdate& rules, const OptimizerConfig& optimizer,
                                const UpdateStep& step) {
  for (const auto& arena : arenas_) arena->update(rules, optimizer, step);
}

bool ResidentParameters::broadcast() {
  std::vector<BroadcastTo> others;
  for (std::size_t i = 1; i < arenas_.size(); ++i) others.push_back({&device(i), arrived(i)});
  const Broadcast answer = device(0).broadcast(others, sum_in(0), elements_);
  if (!std::exchange(is_told_, true)) {
    log_info("sums of gradients go to all GPUs",
             {{"gpus", std::ssize(arenas_)}, {"by", answer.how}});
  }
  return answer.is_asked;
}

// What one computes is in all of them.
void ResidentParameters::require_all_sound() {
  for (const auto& arena : arenas_) {
    Device& device = arena->memory().device();
    device.wait(device.mark());
    require_sound(device);
  }
}

void ResidentParameters::fetch_weights(std::span<float> to) {
  require_all_sound();
  arenas_.front()->fetch_weights(to);
}

void ResidentParameters::fetch_slots(std::span<AlignedBuffer> to) {
  require_all_sound();
  arenas_.front()->fetch_slots(to);
}

void ResidentParameters::fetch_gradient(std::int64_t begin, std::span<float> to) {
  require_all_sound();
  arenas_.front()->fetch_gradient(begin, to);
}

}  // namespace trainyard::runtime
