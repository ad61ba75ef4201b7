#include "agent/host/workdir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "agent/host/process_table.h"
#include "schemas/base/clock.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/log.h"
#include "schemas/files/folder.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

namespace fs = std::filesystem;

constexpr auto leftover_deadline = std::chrono::seconds(10);

// What `remember_process` wrote: "<pid> <start ticks> <boot id>".
struct RememberedProcess {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;
  std::string boot;
};

std::optional<RememberedProcess> parse_remembered(const std::string& text) {
  std::istringstream fields(text);
  RememberedProcess remembered;
  if (!(fields >> remembered.pid >> remembered.start_ticks >> remembered.boot)) return std::nullopt;
  if (remembered.pid <= 1) return std::nullopt;
  return remembered;
}

// Whether the group that the process led can still hold members of the task. The pid alone proves
// nothing: after a reboot, or once the kernel gave it to somebody else, it names another's process.
bool may_have_left_members(const RememberedProcess& remembered) {
  if (remembered.boot != boot_id()) return false;
  const std::optional<ProcessInfo> now = find_process(remembered.pid);
  return !now || now->start_ticks == remembered.start_ticks;
}

// Of nobody's children but init's, too: a pidfd tells.
void wait_for_end(const ProcessInfo& process, std::chrono::steady_clock::time_point deadline) {
  const Descriptor watched(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!watched) return;  // it has ended, and is forgotten
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd ended{.fd = watched.get(), .events = POLLIN, .revents = 0};
  ::poll(&ended, 1, static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count()));
}

Status end_group(const RememberedProcess& remembered) {
  const auto deadline = std::chrono::steady_clock::now() + leftover_deadline;
  for (auto left = running_in_group(remembered.pid); !left.empty();
       left = running_in_group(remembered.pid)) {
    ::kill(static_cast<pid_t>(-remembered.pid), SIGKILL);
    if (std::chrono::steady_clock::now() > deadline) {
      return unavailable("process group " + std::to_string(remembered.pid) +
                         " of an earlier agent does not die");
    }
    wait_for_end(left.front(), deadline);
  }
  return ok();
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
  TRY(workdir.end_leftovers());
  TRY(make_folders(absolute / "tasks"));
  TRY_ASSIGN(workdir.epoch_, workdir.count_epoch());
  TRY_ASSIGN(workdir.instance_, workdir.find_instance());
  return workdir;
}

// An agent's end ends its tasks (the kernel kills them with it), but not what they may have started
// themselves.
Status Workdir::end_leftovers() const {
  const fs::path tasks = fs::path(path_) / "tasks";
  std::error_code error;
  for (fs::recursive_directory_iterator entry(tasks, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() != "process") continue;
    const Result<std::string> text = read_file(entry->path());
    if (!text) continue;
    const std::optional<RememberedProcess> remembered = parse_remembered(*text);
    if (remembered && may_have_left_members(*remembered)) TRY(end_group(*remembered));
  }
  return remove_folder(tasks);
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
  TRY(write_file_durably(path, std::to_string(epoch) + "\n"));
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

std::string Workdir::attempt_folder(const TaskKey& key) const {
  return path_ + "/tasks/" + key.job.text + "/" + std::to_string(key.attempt);
}

std::string Workdir::task_folder(const TaskKey& key) const {
  return attempt_folder(key) + "/" + std::string(name_of(key.role)) + "-" +
         std::to_string(key.index);
}

std::string Workdir::restore_folder(const TaskKey& key) const {
  return attempt_folder(key) + "/restore";
}

Result<std::string> Workdir::make_task_folder(const TaskKey& key) const {
  if (!is_id(key.job.text)) return invalid("\"" + key.job.text + "\" is no job id");
  const std::string folder = task_folder(key);
  TRY(make_folders(folder));
  return folder;
}

Status Workdir::remember_process(const TaskKey& key, std::int64_t pid) const {
  const std::optional<ProcessInfo> info = find_process(pid);
  if (!info) return ok();  // it has ended already
  return write_file(
      task_folder(key) + "/process",
      std::to_string(pid) + " " + std::to_string(info->start_ticks) + " " + boot_id() + "\n");
}

void Workdir::remove_task_folder(const TaskKey& key) const {
  if (!is_id(key.job.text)) return;
  std::error_code error;
  fs::remove_all(task_folder(key), error);
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
