#include "tests/e2e/ledger.h"

#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <variant>

#include "schemas/wire/run_event_json.h"

namespace trainyard::e2e {
namespace {

// Of what was written twice the later one; and shards of other checkpoints may have the same bytes.
std::string key_of(const ArtifactFile& shard) { return shard.name + " " + shard.sha256; }

}  // namespace

void Ledger::note(const WatchedCall& call) {
  if (call.number() != SYS_write) return;
  if (!call.path(static_cast<int>(call.argument(0))).ends_with("/events.jsonl")) return;
  const auto event = parse_run_event(call.memory(call.argument(1), call.argument(2)), 0);
  if (!event.has_value()) return;
  const std::lock_guard lock(mutex_);
  if (const auto* const shard = std::get_if<ShardEvent>(&event->what)) {
    pushes_[key_of(shard->file)] = shard->rank_steps;
  }
  if (const auto* const manifest = std::get_if<ManifestEvent>(&event->what)) {
    checkpoints_.push_back(*manifest);
  }
}

void Ledger::clear() {
  const std::lock_guard lock(mutex_);
  pushes_.clear();
  checkpoints_.clear();
}

void Ledger::check() {
  const std::lock_guard lock(mutex_);
  REQUIRE_FALSE(checkpoints_.empty());
  for (const ManifestEvent& checkpoint : checkpoints_) check(checkpoint);
}

void Ledger::check(const ManifestEvent& checkpoint) {
  INFO("checkpoint of step " << checkpoint.step);
  const auto& first = pushes_[key_of(checkpoint.shards.front())];
  REQUIRE_FALSE(first.empty());
  for (const ArtifactFile& shard : checkpoint.shards) CHECK(pushes_[key_of(shard)] == first);
}

}  // namespace trainyard::e2e
