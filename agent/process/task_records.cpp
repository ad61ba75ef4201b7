#include "agent/process/task_records.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "agent/process/process_table.h"
#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr std::size_t record_bytes_max = 1024;
constexpr auto group_deadline = std::chrono::seconds(10);

constexpr const char* shim_file = "shim";
constexpr const char* process_file = "process";
constexpr const char* exit_file = "exit";
constexpr const char* exit_aside = "exit.new";

// Whoever writes into the folder may have put anything there.
std::optional<std::istringstream> words_of(const std::string& path) {
  const Result<File> file = File::open_regular(path, O_RDONLY);
  if (!file) return std::nullopt;
  std::string text(record_bytes_max, '\0');
  const Result<std::size_t> count = file->read_at(0, text);
  if (!count) return std::nullopt;
  text.resize(*count);
  return std::istringstream(text);
}

std::istream& operator>>(std::istream& words, ProcessName& process) {
  words >> process.pid >> process.start_ticks >> process.boot;
  if (process.pid <= 1) words.setstate(std::ios::failbit);
  return words;
}

std::string to_text(const ProcessName& process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start_ticks) + " " +
         process.boot;
}

std::string to_text(const ExitRecord& record) {
  const bool signalled = record.exit.signal.has_value();
  const int number = signalled ? *record.exit.signal : record.exit.code.value_or(0);
  return std::string(signalled ? "signal " : "code ") + std::to_string(number) + " " +
         std::to_string(static_cast<int>(record.killing)) + " " +
         (record.outlived_lease ? "1 " : "0 ") + (record.was_told ? "1 " : "0 ") +
         std::to_string(record.time.unix_millis) + "\n";
}

Descriptor open_pidfd(std::int64_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void signal_by(const Descriptor& pidfd, int number) {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
}

// Waits, of nobody's children but init's, too.
bool has_ended(const Descriptor& pidfd, std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  const auto most = static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count());
  return ::poll(&ended, 1, most) > 0;
}

// Whether the group that the process led can still hold members of the task. The pid alone proves
// nothing: after a reboot, or once the kernel gave it to somebody else, it names another's process.
bool may_have_left_members(const ProcessName& leader) {
  if (leader.boot != boot_id()) return false;
  const std::optional<ProcessInfo> now = find_process(leader.pid);
  return !now || now->start_ticks == leader.start_ticks;
}

}  // namespace

std::optional<ProcessName> name_process(std::int64_t pid) {
  const std::optional<ProcessInfo> info = find_process(pid);
  if (!info) return std::nullopt;
  return ProcessName{.pid = pid, .start_ticks = info->start_ticks, .boot = boot_id()};
}

bool is_there(const ProcessName& process) {
  if (process.boot != boot_id()) return false;
  const std::optional<ProcessInfo> now = find_process(process.pid);
  return now && now->start_ticks == process.start_ticks;
}

std::optional<ShimRecord> TaskRecords::shim() const {
  auto words = words_of(path(shim_file));
  ShimRecord record;
  if (!words || !(*words >> record.shim >> record.returns >> record.started_at.unix_millis)) {
    return std::nullopt;
  }
  if (record.returns < 0) return std::nullopt;
  return record;
}

std::optional<ProcessName> TaskRecords::process() const {
  auto words = words_of(path(process_file));
  ProcessName process;
  if (!words || !(*words >> process)) return std::nullopt;
  return process;
}

std::optional<ExitRecord> TaskRecords::exit() const {
  auto words = words_of(path(exit_file));
  std::string kind;
  int number = 0;
  int killing = 0;
  ExitRecord record;
  if (!words) return std::nullopt;
  *words >> kind >> number >> killing;
  *words >> record.outlived_lease >> record.was_told >> record.time.unix_millis;
  if (!*words) return std::nullopt;
  if (number < 0 || number > 255 || (kind != "code" && kind != "signal")) return std::nullopt;
  if (killing < 0 || killing > static_cast<int>(Killing::for_memory)) return std::nullopt;
  (kind == "code" ? record.exit.code : record.exit.signal) = number;
  record.killing = static_cast<Killing>(killing);
  return record;
}

Status TaskRecords::write(const ShimRecord& record) const {
  return write_file(path(shim_file), to_text(record.shim) + " " + std::to_string(record.returns) +
                                         " " + std::to_string(record.started_at.unix_millis) +
                                         "\n");
}

Status TaskRecords::write_process(const ProcessName& process) const {
  return write_file(path(process_file), to_text(process) + "\n");
}

Status TaskRecords::reserve_exit() const {
  TRY_ASSIGN(const File file,
             File::open_regular(path(exit_aside), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  const int error = ::posix_fallocate(file.descriptor(), 0, record_bytes_max);
  if (error == 0) return ok();
  errno = error;
  return system_error("cannot make " + file.path());
}

Status TaskRecords::write(const ExitRecord& record) const {
  const std::string aside = path(exit_aside);
  const std::string text = to_text(record);
  {
    TRY_ASSIGN(const File file, File::open_regular(aside, O_WRONLY | O_CREAT, 0600));
    TRY(file.write_at(0, text));
    if (::ftruncate(file.descriptor(), std::ssize(text)) != 0) {
      return system_error("cannot cut " + aside);
    }
  }
  if (std::rename(aside.c_str(), path(exit_file).c_str()) == 0) return ok();
  return system_error("cannot rename " + aside);
}

void TaskRecords::remove_earlier() const {
  for (const char* name : {process_file, exit_file}) ::unlink(path(name).c_str());
}

void TaskRecords::remove_all() const {
  remove_earlier();
  ::unlink(path(shim_file).c_str());
}

Status end_recorded(const std::string& folder) {
  const TaskRecords records(folder);
  if (const auto record = records.shim()) {
    const Descriptor shim = open_pidfd(record->shim.pid);
    // Looked at behind the descriptor, which is that of whoever has the pid now.
    if (shim && is_there(record->shim)) {
      // Asked first: it knows what it has started, whatever is left of the records.
      for (const int number : {SIGUSR1, SIGCONT}) signal_by(shim, number);
      if (!has_ended(shim, std::chrono::steady_clock::now() + group_deadline)) {
        signal_by(shim, SIGKILL);
      }
    }
  }
  const auto leader = records.process();
  return leader ? end_group(*leader) : ok();
}

Status end_group(const ProcessName& leader) {
  if (!may_have_left_members(leader)) return ok();
  const auto deadline = std::chrono::steady_clock::now() + group_deadline;
  for (auto left = running_in_group(leader.pid); !left.empty();
       left = running_in_group(leader.pid)) {
    ::kill(static_cast<pid_t>(-leader.pid), SIGKILL);
    if (std::chrono::steady_clock::now() > deadline) {
      return unavailable("process group " + std::to_string(leader.pid) +
                         " of an earlier agent does not die");
    }
    const Descriptor member = open_pidfd(left.front().pid);
    if (member) has_ended(member, deadline);  // else it is forgotten by now
  }
  return ok();
}

}  // namespace trainyard::agent
