#include "scheduler/store/sweep.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "scheduler/store/artifacts.h"
#include "scheduler/store/checkpoint_rows.h"
#include "schemas/base/clock.h"
#include "schemas/files/folder.h"

namespace trainyard::scheduler {
namespace {

namespace fs = std::filesystem;

// A job's row, as far as it matters here.
struct Standing {
  bool exists = false;
  bool runs = false;        // an attempt of it has not come to rest
  WallTime attempt_begins;  // of the current one
};

Result<Standing> standing_of(Db& db, const JobId& job) {
  Query query = db.query(
      "SELECT state IN ('starting', 'running', 'stopping'), "
      "(SELECT coalesce(min(assigned_at), 0) FROM tasks "
      "WHERE tasks.job = jobs.id AND tasks.attempt = jobs.attempt) FROM jobs WHERE id = ?",
      job.text);
  Standing standing;
  if (query.next()) {
    standing.exists = true;
    standing.runs = query.boolean();
    standing.attempt_begins = query.time();
    standing.runs = standing.runs && standing.attempt_begins.is_set();
  }
  TRY(query.finish());
  return standing;
}

std::set<std::string> names_of(const std::vector<Checkpoint>& checkpoints) {
  std::set<std::string> names;
  for (const Checkpoint& checkpoint : checkpoints) {
    names.insert(checkpoint.manifest.sha256);
    for (const ArtifactFile& shard : checkpoint.shards) names.insert(shard.sha256);
    names.insert(model_file_name(checkpoint.step, checkpoint.attempt));
  }
  return names;
}

// Written, or asked for by an upload; not set where there is no such file.
WallTime written_at(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  if (error) return {};
  const auto since_1970 = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

}  // namespace

Result<Sweep> Sweep::open(const std::string& database_path, SweepFolders folders, Millis grace) {
  TRY_ASSIGN(Db db, Db::open(database_path, Access::read_only));
  return Sweep(std::move(db), std::move(folders), grace);
}

Result<Sweep::Left> Sweep::sweep(const JobId& job) {
  if (!is_id(job.text)) return Left::nothing;  // not ours
  const fs::path folder = fs::path(folders_.artifacts) / job.text;
  TRY_ASSIGN(const Standing standing, standing_of(db_, job));
  if (!standing.exists) {
    TRY(remove_folder(folder.string()));
    TRY(remove_folder((fs::path(folders_.logs) / job.text).string()));
    return Left::nothing;
  }
  TRY_ASSIGN(const auto kept, read_checkpoints(db_, job, Which::kept));
  const std::set<std::string> in_use = names_of(kept);
  std::optional<std::set<std::string>> given_up;  // read when first asked for: they may be many
  const WallTime now = read_clocks().wall;
  Left left = Left::nothing;
  for (const std::string& name : names_in(folder.string())) {
    const std::string whole = name.substr(0, name.rfind(part_suffix));
    if (in_use.contains(whole)) continue;
    const WallTime written = written_at(folder / name);
    if (now - written < grace_) {
      left = Left::young_files;
      continue;
    }
    if (standing.runs && written >= standing.attempt_begins) {
      if (!given_up) {
        TRY_ASSIGN(const auto deleted, read_checkpoints(db_, job, Which::deleted));
        given_up = names_of(deleted);
      }
      if (!given_up->contains(whole)) continue;
    }
    std::error_code gone_already;
    fs::remove(folder / name, gone_already);
  }
  return left;
}

std::vector<JobId> Sweep::jobs_with_files() const {
  std::set<std::string> names;
  for (const std::string& folder : {folders_.artifacts, folders_.logs}) {
    for (std::string& name : names_in(folder)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace trainyard::scheduler
