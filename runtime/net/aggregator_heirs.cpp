// Steps of sync training whose gradients are not all made by the ranks that they are of.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {

// Asks by answers that are waited for anyway; who was asked pulls again for what it waited for.
void Aggregator::name_heirs() {
  if (!heirs_ || heirs_->all_there() || broken_ || gate_.finished()) return;
  std::vector<bool> given;
  std::vector<bool> waits;
  for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
    given.push_back(pending_[rank].has_value());
    waits.push_back(given.back() && waiting_[rank].reply);
  }
  for (Heirs::Asked& asked : heirs_->name(given, waits)) {
    const Waiting waiting = std::exchange(waiting_[static_cast<std::size_t>(asked.heir)], {});
    waiting.reply(
        Answer{.weights = nullptr,
               .version = gate_.version(),
               .rank_step = gate_.version() + 1,
               .sums = {},
               .inheritance = {.step = gate_.version() + 1, .ranks = std::move(asked.ranks)}});
  }
}

Status Aggregator::inherit(Push push) {
  if (!heirs_) return invalid("in this job nobody computes for another");
  if (broken_) return *broken_;
  TRY(check_size(push.rank, WithResiduals::no, push.gradient.bytes()));
  const bool plain = !push.residuals && push.snapshot_step == 0 && push.announced_snapshot == 0;
  if (!plain || push.sums.examples <= 0 || push.step != push.base_version + 1) {
    return invalid(
        "an inherited gradient is of examples, makes the step after its base version and carries "
        "nothing else");
  }
  using enum VersionGate::Verdict;
  switch (gate_.judge(push.rank, push.step)) {
    case accept:
      gate_.accept(push.rank, push.step);
      hold(std::move(push));
      name_heirs();
      break;
    case duplicate:
    case finished: break;
    case out_of_order:
    case unknown_rank:
      return conflict("step " + std::to_string(push.step) + " of rank " +
                      std::to_string(push.rank) + " cannot follow version " +
                      std::to_string(gate_.version()));
  }
  return ok();
}

}  // namespace trainyard::runtime
