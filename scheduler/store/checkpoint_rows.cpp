#include "scheduler/store/checkpoint_rows.h"

#include <optional>
#include <string_view>

#include "schemas/types/names.h"
#include "schemas/wire/row_json.h"

namespace trainyard::scheduler {
namespace {

constexpr NameTable<CheckpointState, 3> states{{{CheckpointState::pending, "pending"},
                                                {CheckpointState::committed, "committed"},
                                                {CheckpointState::deleted, "deleted"}}};

std::optional<CheckpointState> state_from(std::string_view name) {
  return find_value(states, name);
}

}  // namespace

Status save_checkpoint(Db& db, const Checkpoint& checkpoint) {
  return db.run(
      "INSERT OR REPLACE INTO checkpoints (job, step, attempt, state, manifest, shards, metrics, "
      "final_one, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      checkpoint.job.text, checkpoint.step, checkpoint.attempt, find_name(states, checkpoint.state),
      to_row_json(checkpoint.manifest), to_row_json(checkpoint.shards),
      to_row_json(checkpoint.metrics), int{checkpoint.final_one}, checkpoint.created_at);
}

Result<std::vector<Checkpoint>> read_checkpoints(Db& db, const JobId& job, Which which,
                                                 std::pair<std::int64_t, std::int64_t> after,
                                                 std::int64_t limit) {
  Query query = db.query(
      "SELECT step, attempt, state, manifest, shards, metrics, final_one, created_at "
      "FROM checkpoints WHERE job = ? AND state IN (?, ?) AND (step, attempt) > (?, ?) "
      "ORDER BY step, attempt "
      "LIMIT ?",
      job.text, which == Which::deleted ? "deleted" : "committed",
      which == Which::deleted ? "deleted" : (which == Which::kept ? "pending" : "committed"),
      after.first, after.second, limit);
  std::vector<Checkpoint> checkpoints;
  while (query.next()) {
    Checkpoint& checkpoint = checkpoints.emplace_back();
    checkpoint.job = job;
    checkpoint.step = query.integer();
    checkpoint.attempt = query.integer();
    checkpoint.state = query.name(state_from);
    checkpoint.manifest = query.parsed(from_row_json<ArtifactFile>);
    checkpoint.shards = query.parsed(from_row_json<std::vector<ArtifactFile>>);
    checkpoint.metrics = query.parsed(from_row_json<std::map<std::string, double>>);
    checkpoint.final_one = query.boolean();
    checkpoint.created_at = query.time();
  }
  TRY(query.finish());
  return checkpoints;
}

}  // namespace trainyard::scheduler
