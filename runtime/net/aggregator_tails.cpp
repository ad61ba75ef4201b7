// What of a sync step is summed and applied before all its gradients are whole: backward passes end
// with the first layer, so gradients become final from their end on. It may be done ahead, since
// whoever gives a rank's gradient of a step, the rank, its next process or an heir, gives the same.
// And where an update is written: over its gradient, where that is all of its sum.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {

void Aggregator::begin(Push push, TailSink sink) {
  // Of one bit an element none can be decoded alone.
  const bool sums_tails = rules_.gate.mode == Mode::sync && rules_.wire != Wire::onebit &&
                          !backups_ && !rows_ && !broken_;
  if (!sums_tails || push.sums.examples <= 0 || push.residuals) return;
  const bool is_next = push.base_version == gate_.version() &&
                       gate_.judge(push.rank, push.step) == VersionGate::Verdict::accept;
  if (!is_next) return;
  if (!check_size(push.rank, WithResiduals::no, push.gradient.bytes()).has_value()) return;
  const auto rank = static_cast<std::size_t>(push.rank);
  begun_[rank] = Begun{.push = std::move(push), .from = elements()};
  tail_sinks_[rank] = std::move(sink);
}

void Aggregator::drop_begun(std::size_t rank) {
  begun_[rank].reset();
  tail_sinks_[rank] = nullptr;
}

void Aggregator::release(std::int64_t rank, std::int64_t from) {
  if (!gate_.knows(rank)) return;
  auto& begun = begun_[static_cast<std::size_t>(rank)];
  if (!begun || from < 0 || from >= begun->from) return;
  begun->from = from;
  update_tail();
}

const Push* Aggregator::push_of(std::size_t rank) const {
  if (pending_[rank]) return &*pending_[rank];
  return begun_[rank] ? &begun_[rank]->push : nullptr;
}

std::shared_ptr<WeightsBuffer> Aggregator::landing() {
  const bool is_alone = rules_.gate.mode == Mode::async || rules_.gate.ranks == 1;
  const bool is_all = is_alone && parts_.front() == 1 && rules_.wire == Wire::float32;
  if (!is_all) return nullptr;
  std::erase_if(landings_, [](const auto& given) { return given.expired(); });
  // Of each rank one that comes and one that is read, the newest version and the one before.
  if (std::ssize(landings_) >= 2 * rules_.gate.ranks + 2) return nullptr;
  auto landing = shard_.landing();
  landings_.push_back(landing);
  return landing;
}

// Of an update that has begun, or begins now. A cut reads the gradient again.
void Aggregator::choose_room() {
  std::shared_ptr<WeightsBuffer> landing;
  for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
    const Push* const push = push_of(rank);
    if (push != nullptr && !(cut_ && cut_->wants(push->rank))) landing = push->landing;
  }
  shard_.write_in(landing);
}

void Aggregator::update_tail() {
  BatchSums sums;
  std::int64_t from = 0;
  for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
    const Push* const push = push_of(rank);
    if (push == nullptr) return;
    sums += push->sums;
    if (!pending_[rank]) from = std::max(from, begun_[rank]->from);
  }
  if (shard_.updated_from() - from < rules_.tail_elements_min) return;
  choose_room();
  shard_.apply_tail([this](std::size_t begin) { return sum_of_pushes(begin); },
                    update_to(gate_.version() + 1, sums), from);
  const Tail tail{shard_.updated_ahead(), from};
  for (const TailSink& sink : tail_sinks_) {
    if (sink) sink(tail);
  }
}

}  // namespace trainyard::runtime
