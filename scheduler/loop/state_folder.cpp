#include "scheduler/loop/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <set>
#include <vector>

#include "scheduler/loop/new_ids.h"
#include "scheduler/store/belonging.h"
#include "schemas/base/log.h"
#include "schemas/files/folder.h"
#include "schemas/files/whole_file.h"

namespace trainyard::scheduler {
namespace {

std::vector<std::string> job_folders(const StateFolder& folder) {
  std::set<std::string> names;
  for (const std::string& of : {folder.artifacts(), folder.logs()}) {
    for (std::string& name : names_in(of)) names.insert(std::move(name));
  }
  names.erase("lost+found");  // the file system's own, where it is mounted here
  return {names.begin(), names.end()};
}

Error refusal(const StateFolder& folder, std::size_t jobs, bool database_exists) {
  const std::string what =
      database_exists ? "the database " + folder.database() + " is not the one of its folder"
                      : "there is no database " + folder.database();
  return conflict(what + ", where artifacts and logs of " + std::to_string(jobs) +
                  (jobs == 1 ? " job lie" : " jobs lie") +
                  ". Put the database back that belongs here; or start with --adopt-state, and "
                  "what the database does not know is moved to " +
                  folder.lost_and_found() + " and deleted after 7 days");
}

}  // namespace

Result<StateFolder> StateFolder::take(const std::string& path) {
  if (path.empty()) return invalid("the state folder must be named");
  TRY(make_folders(path));
  TRY_ASSIGN(File lock, File::open(path + "/lock", O_RDWR | O_CREAT));
  if (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return conflict("the state folder " + path + " is in use by another server");
  }
  StateFolder folder(path, std::move(lock));
  TRY(make_folders(folder.artifacts()));
  TRY(make_folders(folder.logs()));
  // A server of before let all users read them. What is in a folder is shut off by the folder.
  for (const char* suffix : {"", "-wal", "-shm"}) TRY(keep_others_out(folder.database() + suffix));
  for (const std::string& shut : {path + "/lock", folder.artifacts(), folder.logs(),
                                  folder.lost_and_found(), folder.id_file()}) {
    TRY(keep_others_out(shut));
  }
  return folder;
}

Result<std::string> StateFolder::read_id() const {
  const auto content = read_file(id_file());
  if (!content && content.error().code == Code::not_found) return std::string();
  if (!content) return content.error();
  std::string id = *content;
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (!is_folder_id(id)) {
    return invalid(id_file() +
                   " holds no folder id (32 hex digits): restore it from a backup, or "
                   "remove it and start with --adopt-state");
  }
  return id;
}

Result<std::string> StateFolder::match_database(ForeignDatabase foreign) {
  const std::vector<std::string> jobs = job_folders(*this);
  TRY_ASSIGN(const std::string id, read_id());
  TRY_ASSIGN(const Belonging found, look_at_database(database(), jobs));
  if (!id.empty() && found.folder_id == id) return id;

  // Of before there were ids, or brought back without the folder's.
  const bool is_of_before = found.knows_a_job && (found.folder_id.empty() || id.empty());
  if (!jobs.empty() && !is_of_before) {
    if (foreign == ForeignDatabase::refused) return refusal(*this, jobs.size(), found.exists);
    log_warning("state_adopted", {{"database", database()}, {"jobs", std::ssize(jobs)}});
  }
  const std::string fresh = new_folder_id();
  TRY(write_file_durably(id_file(), fresh + "\n"));
  return fresh;
}

}  // namespace trainyard::scheduler
