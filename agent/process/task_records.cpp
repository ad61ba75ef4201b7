#include "agent/process/task_records.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "agent/process/process_table.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr std::size_t record_bytes_max = 1024;

// What the server takes of an agent's report (schemas/wire/report_check.h).
constexpr std::int64_t pid_max = std::int64_t{1} << 30;
constexpr std::int64_t time_max = 253'402'300'799'999;
constexpr int signal_max = 127;

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
  if (process.pid <= 1 || process.pid > pid_max) words.setstate(std::ios::failbit);
  return words;
}

bool is_time(WallTime time) { return time.unix_millis >= 0 && time.unix_millis <= time_max; }

std::string to_text(const ProcessName& process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start_ticks) + " " +
         process.boot;
}

std::string to_text(const ExitRecord& record) {
  const bool signalled = record.exit.signal.has_value();
  const int number = signalled ? *record.exit.signal : record.exit.code.value_or(0);
  return std::string(signalled ? "signal " : "code ") + std::to_string(number) + " " +
         std::to_string(static_cast<int>(record.killing)) + " " +
         (record.outlived_lease ? "1 " : "0 ") + std::to_string(record.time.unix_millis) +
         (record.was_told ? " 1" : " 0") + "\n";
}

}  // namespace

std::string this_boot() {
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return boot_id() + "/" + (error ? "" : space.string());
}

std::optional<ProcessName> name_process(std::int64_t pid) {
  const std::optional<ProcessInfo> info = find_process(pid);
  if (!info) return std::nullopt;
  return ProcessName{.pid = pid, .start_ticks = info->start_ticks, .boot = this_boot()};
}

Presence presence_of(const ProcessName& process) {
  if (process.boot != this_boot()) return Presence::gone;
  if (const std::optional<ProcessInfo> now = find_process(process.pid)) {
    const bool is_it = now->start_ticks == process.start_ticks && is_running(*now);
    return is_it ? Presence::there : Presence::gone;
  }
  // It could not be read: that it is not there the kernel says.
  const bool is_gone = ::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH;
  return is_gone ? Presence::gone : Presence::unknown;
}

Presence presence_in(const std::string& folder, const ProcessName& process) {
  const Presence presence = presence_of(process);
  if (presence != Presence::there) return presence;
  std::error_code error;
  const auto own = std::filesystem::canonical(folder, error);
  return !error && folder_of(process.pid) == own ? Presence::there : Presence::gone;
}

std::optional<ShimRecord> TaskRecords::shim() const {
  auto words = words_of(path(shim_file));
  ShimRecord record;
  if (!words || !(*words >> record.shim >> record.returns >> record.started_at.unix_millis)) {
    return std::nullopt;
  }
  if (record.returns < 0 || !is_time(record.started_at)) return std::nullopt;
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
  *words >> record.outlived_lease >> record.time.unix_millis >> record.was_told;
  if (!*words || !is_time(record.time)) return std::nullopt;
  const bool is_code = kind == "code" && number >= 0 && number <= 255;
  const bool is_signal = kind == "signal" && number >= 1 && number <= signal_max;
  if (!is_code && !is_signal) return std::nullopt;
  if (killing < 0 || killing > static_cast<int>(Killing::for_memory)) return std::nullopt;
  (is_code ? record.exit.code : record.exit.signal) = number;
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

}  // namespace trainyard::agent
