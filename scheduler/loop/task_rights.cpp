#include "scheduler/loop/task_rights.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t file_bytes_max = std::int64_t{1} << 40;
// Files of a job that no manifest names, in attempts that died before theirs and in this one. Far
// more than there are checkpoints on their way.
constexpr std::size_t unnamed_files_max = 4096;

std::vector<ArtifactFile> files_of(const Checkpoint& checkpoint) {
  std::vector<ArtifactFile> files = checkpoint.shards;
  files.push_back(checkpoint.manifest);
  return files;
}

}  // namespace

TokenMaker tokens_under(const SecretKey& key) {
  return {.gang =
              [key](const JobId& job, std::int64_t attempt) {
                return key.token_of(job.text + "/" + std::to_string(attempt) + "/gang");
              },
          .task = [key](const TaskKey& task) { return key.token_of(to_string(task)); }};
}

bool TaskRights::is_token_of(const TaskKey& task, std::string_view token) const {
  return is_same_secret(key_.token_of(to_string(task)), token);
}

Status TaskRights::admit(const TaskKey& task) {
  const std::lock_guard lock(mutex_);
  return reader_.check_goes_on(task);
}

Status TaskRights::check_fetch(const TaskKey& task, const JobId& job, const std::string& sha256) {
  std::optional<Checkpoint> given;
  {
    const std::lock_guard lock(mutex_);
    TRY_ASSIGN(given, reader_.restored_by(task));
  }
  const bool is_given = given && given->job == job &&
                        std::ranges::count(files_of(*given), sha256, &ArtifactFile::sha256) > 0;
  if (is_given) return ok();
  return invalid("the file " + sha256 + " of job " + job.text + " is not of the checkpoint that " +
                 to_string(task) + " begins with");
}

Status TaskRights::check_upload(const TaskKey& task, const ArtifactFile& file,
                                std::int64_t offset) {
  if (file.bytes > file_bytes_max) {
    return invalid(file.name + ": bytes must be at most " + std::to_string(file_bytes_max));
  }
  std::vector<Checkpoint> kept;
  Job job;
  {
    const std::lock_guard lock(mutex_);
    TRY_ASSIGN(kept, reader_.kept_checkpoints(task.job));
    TRY_ASSIGN(job, reader_.job(task.job));
  }
  std::set<std::string> named;
  for (const Checkpoint& checkpoint : kept) {
    for (const ArtifactFile& known : files_of(checkpoint)) {
      named.insert(known.sha256);
      if (known.sha256 != file.sha256 || known.bytes == file.bytes) continue;
      return invalid(file.name + " is announced with " + std::to_string(file.bytes) +
                     " bytes, and has " + std::to_string(known.bytes) + " by its manifest");
    }
  }
  if (!named.contains(file.sha256) &&
      artifacts_.count_others(task.job, named) >= unnamed_files_max) {
    return invalid(file.name + ": job " + task.job.text + " has " +
                   std::to_string(unnamed_files_max) + " files that no manifest names already");
  }
  ArtifactFile missing = file;
  missing.bytes -= std::clamp<std::int64_t>(offset, 0, file.bytes);
  const Status room = artifacts_.check_room(missing);
  // Tasks end when their files are delivered: who cancels a job does not wait for a disk.
  if (!room && job.goal == JobState::cancelled) return invalid(room.error().message);
  return room;
}

}  // namespace trainyard::scheduler
