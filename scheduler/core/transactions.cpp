#include "scheduler/core/transactions.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace trainyard::scheduler {
namespace {

constexpr std::size_t answers_max = 512;
constexpr std::size_t changes_max = 4096;

}  // namespace

Status Transactions::restore(const TokenMaker& tokens, Time now) {
  TRY_ASSIGN(Saved saved, surroundings_.load());
  for (const Checkpoint& checkpoint : saved.checkpoints) look_for_files(checkpoint);
  core_ = Cluster::restore(std::move(saved), limits_, tokens, now);
  return ok();
}

Transactions::Stepped Transactions::step(const Event& event, const Now& now) {
  if (!core_) return {unavailable("the database cannot be written now"), {}};
  Step step = core_->step(event, now);
  ++steps_;
  for (Assignment& assignment : step.send) {
    AgentId agent = assignment.agent;
    sends_.insert_or_assign(std::move(agent), std::move(assignment));
  }
  std::ranges::move(step.refuse, std::back_inserter(refusals_));
  const std::size_t before = changes_.size();
  std::ranges::move(step.save, std::back_inserter(changes_));
  return {std::move(step.outcome), Changes(changes_).subspan(before)};
}

std::optional<IdempotencyKey> Transactions::find_key(const std::string& key) const {
  const auto found = std::ranges::find(keys_, key, &IdempotencyKey::key);
  return found == keys_.end() ? std::nullopt : std::optional(*found);
}

bool Transactions::is_full() const {
  return answers_.size() >= answers_max || changes_.size() >= changes_max;
}

// Files that are there already make changes of their own, which are saved too.
void Transactions::commit(const Now& now) {
  do {
    commit_once();
    for (const ArtifactStored& file : std::exchange(found_files_, {})) step(file, now);
  } while (!changes_.empty());
}

void Transactions::commit_once() {
  const Status saved = save();
  const std::vector<Change> changes = std::exchange(changes_, {});
  const std::vector<WhenSaved> answers = std::exchange(answers_, {});
  const std::map<AgentId, Assignment> sends = std::exchange(sends_, {});
  const std::vector<Refusal> refusals = std::exchange(refusals_, {});
  keys_.clear();
  if (!saved) core_.reset();
  if (saved || limits_.fences.saved_first == Fence::removed) {
    for (const auto& [agent, assignment] : sends) surroundings_.send(assignment);
    for (const Refusal& refusal : refusals) surroundings_.refuse(refusal);
  }
  for (const WhenSaved& answer : answers) answer(saved);
  if (!saved || changes.empty()) return;
  for (const Change& change : changes) {
    const auto* row = std::get_if<SaveCheckpoint>(&change);
    if (row != nullptr) look_for_files(row->checkpoint);
  }
  surroundings_.announce(changes);
}

Status Transactions::save() {
  if (changes_.empty() && keys_.empty()) return ok();
  return surroundings_.save(changes_, keys_);
}

// A file may have come before its manifest, and before a restart: the word of it is then lost, the
// file is not.
void Transactions::look_for_files(const Checkpoint& checkpoint) {
  if (checkpoint.state != CheckpointState::pending) return;
  const auto look = [&](const ArtifactFile& file) {
    if (!surroundings_.has_file(checkpoint.job, file.sha256)) return;
    found_files_.push_back({checkpoint.job, file.sha256});
  };
  look(checkpoint.manifest);
  for (const ArtifactFile& shard : checkpoint.shards) look(shard);
}

}  // namespace trainyard::scheduler
