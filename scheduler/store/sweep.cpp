#include "scheduler/store/sweep.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "scheduler/store/artifacts.h"
#include "scheduler/store/checkpoint_rows.h"
#include "scheduler/store/files.h"

namespace trainyard::scheduler {
namespace {

namespace fs = std::filesystem;

Result<bool> exists(Db& db, const JobId& job) {
  Query query = db.query("SELECT 1 FROM jobs WHERE id = ?", job.text);
  const bool found = query.next();
  TRY(query.finish());
  return found;
}

std::set<std::string> names_in_use(const std::vector<Checkpoint>& checkpoints) {
  std::set<std::string> names;
  for (const Checkpoint& checkpoint : checkpoints) {
    names.insert(checkpoint.manifest.sha256);
    for (const ArtifactFile& shard : checkpoint.shards) names.insert(shard.sha256);
    names.insert(model_file_name(checkpoint.step, checkpoint.attempt));
  }
  return names;
}

bool is_young(const fs::path& file, Millis grace) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return !error &&
         fs::file_time_type::clock::now() - written < std::chrono::milliseconds(grace.count);
}

}  // namespace

Result<Sweep> Sweep::open(const std::string& database_path, SweepFolders folders, Millis grace) {
  TRY_ASSIGN(Db db, Db::open(database_path, Access::read_only));
  return Sweep(std::move(db), std::move(folders), grace);
}

Result<Sweep::Left> Sweep::sweep(const JobId& job) {
  if (!is_id(job.text)) return Left::nothing;  // not ours
  const fs::path folder = fs::path(folders_.artifacts) / job.text;
  TRY_ASSIGN(const bool is_there, exists(db_, job));
  if (!is_there) {
    TRY(remove_folder(folder.string()));
    TRY(remove_folder((fs::path(folders_.logs) / job.text).string()));
    return Left::nothing;
  }
  TRY_ASSIGN(const auto checkpoints, read_checkpoints(db_, job, Which::kept));
  const std::set<std::string> in_use = names_in_use(checkpoints);
  Left left = Left::nothing;
  for (const std::string& name : names_in(folder.string())) {
    const std::string whole = name.substr(0, name.rfind(part_suffix));
    if (in_use.contains(whole)) continue;
    if (is_young(folder / name, grace_)) {
      left = Left::young_files;
    } else {
      std::error_code gone_already;
      fs::remove(folder / name, gone_already);
    }
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
