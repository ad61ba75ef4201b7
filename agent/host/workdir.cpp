#include "agent/host/workdir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "agent/process/leftovers.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/files/folder.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* restore_name = "restore";
constexpr auto leftovers_deadline = std::chrono::seconds(10);

// Links are none: what they lead to is not ours.
std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (fs::is_directory(entry.symlink_status(error))) folders.push_back(entry.path());
  }
  return folders;
}

// In its place on the disk, which is one sector's.
Status overwrite(const std::string& path, const std::string& text) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_WRONLY));
  TRY(file.write_at(0, text));
  return file.sync();
}

// What stays is tried again at the next start: somebody may write there still.
void clear(const std::string& folder) {
  if (const Status removed = remove_folder(folder); !removed) {
    log_warning("folder_not_removed", {{"folder", folder}, {"error", removed.error().message}});
  }
}

bool is_empty_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_empty(path, error) && !error;
}

}  // namespace

Result<Workdir> Workdir::open(const std::string& path) {
  TRY(make_folders(path));
  std::error_code error;
  const fs::path absolute = fs::canonical(path, error);
  if (error) return internal("cannot use the work folder " + path + ": " + error.message());

  TRY_ASSIGN(File lock, File::open(absolute / "lock", O_RDWR | O_CREAT, 0600));
  if (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return conflict("another agent uses the work folder " + absolute.string());
  }

  Workdir workdir(absolute, std::move(lock));
  TRY(make_folders(absolute / "tasks"));
  TRY_ASSIGN(workdir.epoch_, workdir.count_epoch());
  TRY_ASSIGN(workdir.instance_, workdir.find_instance());
  return workdir;
}

std::vector<std::string> Workdir::task_folders() const {
  std::vector<std::string> folders;
  for (const fs::path& job : folders_in(path_ + "/tasks")) {
    for (const fs::path& attempt : folders_in(job)) {
      for (const fs::path& task : folders_in(attempt)) {
        if (task.filename() != restore_name) folders.push_back(task);
      }
    }
  }
  return folders;
}

Status Workdir::end_leftovers(const std::set<TaskKey>& kept) const {
  std::set<std::string> kept_folders;
  std::set<std::string> kept_parents;
  for (const TaskKey& key : kept) {
    kept_folders.insert(task_folder(key));
    kept_parents.insert(attempt_folder(key));
    kept_parents.insert(fs::path(attempt_folder(key)).parent_path());
  }
  // All together: the lease of those that are kept runs meanwhile.
  const auto deadline = std::chrono::steady_clock::now() + leftovers_deadline;
  for (const std::string& folder : task_folders()) {
    if (kept_folders.contains(folder)) continue;
    if (const Status ended = end_recorded(folder, deadline); ended) {
      clear(folder);
    } else {
      log_warning("task_not_ended", {{"folder", folder}, {"error", ended.error().message}});
    }
  }
  // What the tasks of an attempt shared, and files that are no tasks.
  const std::string tasks = path_ + "/tasks";
  for (const std::string& job : names_in(tasks)) {
    const std::string parent = tasks + "/" + job;
    if (!kept_parents.contains(parent)) {
      clear(parent);
      continue;
    }
    for (const std::string& attempt : names_in(parent)) {
      if (!kept_parents.contains(parent + "/" + attempt)) clear(parent + "/" + attempt);
    }
  }
  return ok();
}

Result<std::int64_t> Workdir::count_epoch() const {
  const std::string path = path_ + "/epoch";
  std::int64_t epoch = read_clocks().wall.unix_millis / 1000;
  if (const Result<std::string> text = read_file(path)) {
    std::int64_t last = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), last);
    if (error != std::errc{}) return internal(path + " does not hold a number");
    // Never behind the clock: the folder may have been brought back from a backup.
    epoch = std::max(epoch, last + 1);
  } else if (text.error().code != Code::not_found) {
    return text.error();
  }
  const std::string text = std::to_string(epoch) + "\n";
  Status written = write_file_durably(path, text);
  // The tasks that are to be found do not wait for room. Epochs of a folder have one length.
  if (!written && says_disk_is_full(written.error())) written = overwrite(path, text);
  TRY(written);
  return epoch;
}

// A copy of the folder, on this host or another, is another agent's: the name holds only where it
// was given.
Result<std::string> Workdir::find_instance() const {
  struct stat folder {};
  if (::stat(path_.c_str(), &folder) != 0) return system_error("cannot look at " + path_);
  const Result<std::string> machine = read_file("/etc/machine-id");
  const std::string place = std::to_string(folder.st_dev) + ":" + std::to_string(folder.st_ino) +
                            " " + (machine ? machine->substr(0, machine->find('\n')) : "");

  const std::string path = path_ + "/instance";
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code != Code::not_found) return text.error();
  if (text) {
    const std::size_t end = text->find(' ');
    std::string instance = text->substr(0, end);
    if (!is_id(instance) || end == std::string::npos) {
      return internal(path + " does not hold what an agent wrote there");
    }
    if (text->substr(end + 1) == place + "\n") return instance;
  }
  // A new one with each reading.
  TRY_ASSIGN(std::string instance, read_file("/proc/sys/kernel/random/uuid"));
  instance.resize(instance.find('\n'));
  TRY(write_file_durably(path, instance + " " + place + "\n"));
  return instance;
}

Result<bool> Workdir::has_same_server(const std::string& server) const {
  const std::string path = path_ + "/server";
  const Result<std::string> before = read_file(path);
  if (before && *before == server + "\n") return true;
  TRY(write_file_durably(path, server + "\n"));
  return false;
}

std::string Workdir::attempt_folder(const TaskKey& key) const {
  return path_ + "/tasks/" + key.job.text + "/" + std::to_string(key.attempt);
}

std::string Workdir::task_folder(const TaskKey& key) const {
  return attempt_folder(key) + "/" + std::string(name_of(key.role)) + "-" +
         std::to_string(key.index);
}

std::string Workdir::restore_folder(const TaskKey& key) const {
  return attempt_folder(key) + "/" + restore_name;
}

Result<std::string> Workdir::make_task_folder(const TaskKey& key) const {
  if (!is_id(key.job.text)) return invalid("\"" + key.job.text + "\" is no job id");
  const std::string folder = task_folder(key);
  TRY(make_folders(folder));
  return folder;
}

void Workdir::remove_task_folder(const TaskKey& key) const {
  if (!is_id(key.job.text)) return;
  // First in one step: a folder that is half removed would be of a task that has another end.
  std::error_code error;
  const std::string gone = task_folder(key) + ".gone";
  fs::rename(task_folder(key), gone, error);
  if (error == std::errc::no_such_file_or_directory) error.clear();
  if (!error) fs::remove_all(gone, error);
  if (error) {
    log_warning("folder_not_removed", {{"folder", task_folder(key)}, {"error", error.message()}});
    return;
  }

  const fs::path attempt = attempt_folder(key);
  const auto entries = std::distance(fs::directory_iterator(attempt, error), {});
  if (entries == 1 && fs::exists(restore_folder(key), error)) {
    fs::remove_all(restore_folder(key), error);
  }
  if (is_empty_folder(attempt)) fs::remove(attempt, error);
  if (is_empty_folder(attempt.parent_path())) fs::remove(attempt.parent_path(), error);
}

}  // namespace trainyard::agent
