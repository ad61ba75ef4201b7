#include "scheduler/store/sweep.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "scheduler/store/artifacts.h"
#include "scheduler/store/checkpoint_rows.h"
#include "scheduler/store/made_files.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"

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
    for (const std::string& made : {model_file_name(checkpoint.step, checkpoint.attempt),
                                    onnx_file_name(checkpoint.step, checkpoint.attempt)}) {
      names.insert(made);
      names.insert(made + std::string(sha256_suffix));
    }
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

// What it is called in lost+found: what was there of this name before stays beside it.
fs::path free_name(const fs::path& folder, const std::string& name) {
  fs::path path = folder / name;
  for (int i = 2; fs::exists(fs::symlink_status(path)); ++i) {
    path = folder / (name + "-" + std::to_string(i));
  }
  return path;
}

constexpr std::string_view files_own_folder = "lost+found";  // of a disk that is mounted here

}  // namespace

Result<Sweep> Sweep::open(const std::string& database_path, SweepFolders folders, Millis grace) {
  TRY_ASSIGN(Db db, Db::open(database_path, Access::read_only));
  return Sweep(std::move(db), std::move(folders), grace, read_clocks().wall);
}

Result<Sweep::Left> Sweep::sweep(const JobId& job) {
  const fs::path folder = fs::path(folders_.artifacts) / job.text;
  TRY_ASSIGN(const Standing standing, standing_of(db_, job));
  if (!standing.exists) {
    TRY(set_aside_all_of(job.text));
    return Left::nothing;
  }
  TRY_ASSIGN(const auto kept, read_checkpoints(db_, job, Which::kept));
  const std::set<std::string> in_use = names_of(kept);
  std::optional<std::set<std::string>> given_up;  // read when first asked for: they may be many
  const WallTime now = read_clocks().wall;
  Left left = Left::nothing;
  for (const std::string& name : names_in(folder.string())) {
    const std::string whole = name.substr(0, name.rfind(part_suffix));
    const bool is_made_here = name.starts_with(made_prefix);
    if (in_use.contains(is_made_here ? name : whole)) continue;
    const WallTime written = written_at(folder / name);
    if (now - written < grace_) {
      left = Left::young_files;
      continue;
    }
    if (!given_up) {
      TRY_ASSIGN(const auto deleted, read_checkpoints(db_, job, Which::deleted));
      given_up = names_of(deleted);
    }
    const bool is_unknown = !given_up->contains(whole) && !is_made_here;
    if (standing.runs && written >= standing.attempt_begins && is_unknown) continue;
    // Half a file can be sent again, and a model file made again.
    if (is_unknown && written < opened_ && is_sha256(name)) {
      TRY(set_aside(folder / name, "artifacts-" + job.text + "-" + name));
      continue;
    }
    std::error_code gone_already;
    fs::remove(folder / name, gone_already);
  }
  return left;
}

Status Sweep::remove(const JobId& job) {
  if (!is_id(job.text)) return invalid("\"" + job.text + "\" is no job id");
  TRY(remove_folder((fs::path(folders_.artifacts) / job.text).string()));
  return remove_folder((fs::path(folders_.logs) / job.text).string());
}

Status Sweep::set_aside_all_of(const std::string& name) const {
  TRY(set_aside(fs::path(folders_.artifacts) / name, "artifacts-" + name));
  return set_aside(fs::path(folders_.logs) / name, "logs-" + name);
}

Status Sweep::set_aside(const fs::path& path, const std::string& as) const {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return ok();
  TRY(make_folders(folders_.lost_and_found));
  // Its time there counts from now, and is right before it is there.
  const fs::path to = free_name(folders_.lost_and_found, as);
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  if (!error) fs::rename(path, to, error);
  if (error) {
    return unavailable("cannot move " + path.string() + " to " + to.string() + ": " +
                       error.message());
  }
  log_warning("set_aside", {{"path", path.string()},
                            {"to", to.string()},
                            {"why", "the database does not know it"},
                            {"kept_seconds", lost_and_found_time.count / 1000}});
  return ok();
}

Status Sweep::empty_lost_and_found(WallTime now) const {
  for (const std::string& name : names_in(folders_.lost_and_found)) {
    const fs::path path = fs::path(folders_.lost_and_found) / name;
    const WallTime since = written_at(path);
    if (!since.is_set() || now - since < lost_and_found_time) continue;
    TRY(remove_folder(path.string()));
    log_info("lost_and_found_removed", {{"path", path.string()}});
  }
  return ok();
}

std::vector<JobId> Sweep::jobs_with_files() const {
  std::set<std::string> names;
  for (const std::string& folder : {folders_.artifacts, folders_.logs}) {
    for (std::string& name : names_in(folder)) names.insert(std::move(name));
  }
  names.erase(std::string(files_own_folder));
  return {names.begin(), names.end()};
}

}  // namespace trainyard::scheduler
