#include "runtime/core/backup_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

bool MadeStep::has(std::int64_t rank) const { return std::ranges::binary_search(ranks, rank); }

BackupSteps::BackupSteps(Rules rules, std::int64_t version)
    : rules_(rules),
      version_(version),
      received_(index_of(rules.ranks), version),
      ready_(index_of(rules.ranks)),
      there_(index_of(rules.ranks), Presence::yet_to_come),
      dropped_(index_of(rules.ranks)) {
  ENSURE(rules_.aggregate >= 1 && rules_.aggregate <= rules_.ranks);
}

bool BackupSteps::holds(std::int64_t rank) const { return received_[index_of(rank)] > version_; }

bool BackupSteps::waits_for(std::int64_t rank) const {
  switch (there_[index_of(rank)]) {
    case Presence::there: return true;
    case Presence::yet_to_come: return newest_.version == 0;
    case Presence::gone: break;
  }
  return false;
}

BackupSteps::Verdict BackupSteps::judge(std::int64_t rank, std::int64_t step) const {
  if (step <= received_[index_of(rank)]) return Verdict::duplicate;
  if (step <= version_) return Verdict::late;
  if (step != version_ + 1 || version_ >= rules_.max_steps) return Verdict::out_of_order;
  return Verdict::hold;
}

void BackupSteps::hold(std::int64_t rank) { received_[index_of(rank)] = version_ + 1; }

void BackupSteps::drop(std::int64_t rank, std::int64_t step) {
  ENSURE(judge(rank, step) == Verdict::late);
  received_[index_of(rank)] = step;
  ++dropped_[index_of(rank)];
}

bool BackupSteps::ready(std::int64_t rank, std::int64_t step) {
  if (step <= version_) return true;
  if (step != version_ + 1 || !holds(rank) || rules_.part == Part::follows) return false;
  ready_[index_of(rank)] = true;
  return true;
}

std::optional<MadeStep> BackupSteps::decide() const {
  MadeStep made{.version = version_ + 1, .ranks = {}, .snapshot = newest_.snapshot};
  bool others = false;
  for (std::int64_t rank = 0; rank < rules_.ranks; ++rank) {
    if (ready_[index_of(rank)]) {
      made.ranks.push_back(rank);
    } else if (waits_for(rank)) {
      others = true;
    }
  }
  if (made.ranks.empty()) return std::nullopt;
  if (others && std::ssize(made.ranks) < rules_.aggregate) return std::nullopt;
  // The last version's checkpoint is asked for by itself, when training is over.
  if (snapshot_asked_ && made.version < rules_.max_steps) made.snapshot = made.version;
  return made;
}

Status BackupSteps::check(const MadeStep& told) const {
  const std::string step = "step " + std::to_string(told.version);
  if (told.version < version_) return ok();
  if (told.version == version_) {
    if (newest_.version == 0 || told == newest_) return ok();
    return conflict(step + " was made otherwise on this ps");
  }
  if (told.version != version_ + 1 || rules_.part != Part::follows) {
    return conflict(step + " cannot follow version " + std::to_string(version_));
  }
  const bool in_order =
      std::ranges::adjacent_find(told.ranks, std::ranges::greater_equal()) == told.ranks.end();
  if (told.ranks.empty() || !in_order) return conflict(step + " is of ranks that do not ascend");
  for (const std::int64_t rank : told.ranks) {
    if (rank < 0 || rank >= rules_.ranks || !holds(rank)) {
      return conflict(step + " is made of a gradient of rank " + std::to_string(rank) +
                      ", which this ps does not hold");
    }
  }
  return ok();
}

void BackupSteps::commit(MadeStep made) {
  ENSURE(made.version == version_ + 1);
  for (std::int64_t rank = 0; rank < rules_.ranks; ++rank) {
    if (holds(rank) && !made.has(rank)) ++dropped_[index_of(rank)];
  }
  ready_.assign(ready_.size(), false);
  if (made.snapshot == made.version) snapshot_asked_ = false;
  version_ = made.version;
  newest_ = std::move(made);
}

}  // namespace trainyard::runtime
