#include "agent/process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>

#include "schemas/base/descriptor.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

// "pid (name) state ppid pgrp ... starttime": the name may hold spaces and brackets, so fields are
// counted from the last closing one. See proc(5).
std::optional<ProcessInfo> parse_stat(std::int64_t pid, const std::string& text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;

  std::istringstream fields(text.substr(name_end + 1));
  ProcessInfo info{.pid = pid};
  if (!(fields >> info.state >> info.parent >> info.group)) return std::nullopt;

  std::string skipped;
  for (int field = 6; field < 22; ++field) fields >> skipped;  // start_ticks is field 22
  if (!(fields >> info.start_ticks)) return std::nullopt;
  return info;
}

std::optional<std::int64_t> parse_pid(const std::string& name) {
  std::int64_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

// In the first pid namespace, whose number is the same on every kernel (PROC_PID_INIT_INO).
bool has_pids_of_host() {
  std::array<char, 64> name{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", name.data(), name.size());
  return size > 0 &&
         std::string_view(name.data(), static_cast<std::size_t>(size)) == "pid:[4026531836]";
}

// "<priority>,<sequence>,<microseconds>,<flags>;<text>"
std::int64_t time_of_record(std::string_view record) {
  std::size_t at = record.find(',');
  at = at == std::string_view::npos ? at : record.find(',', at + 1);
  std::int64_t micros = 0;
  if (at == std::string_view::npos) return micros;
  std::from_chars(record.data() + at + 1, record.data() + record.size(), micros);
  return micros;
}

}  // namespace

bool is_running(const ProcessInfo& process) { return process.state != 'Z' && process.state != 'X'; }

std::optional<ProcessInfo> find_process(std::int64_t pid) {
  const Result<std::string> text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  return parse_stat(pid, *text);
}

std::string folder_of(std::int64_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/cwd", error).string();
}

std::vector<ProcessInfo> running_in_group(std::int64_t group) {
  // Nearly always the group is empty, which the kernel says without a walk through /proc.
  if (::kill(static_cast<pid_t>(-group), 0) == -1 && errno == ESRCH) return {};

  std::vector<ProcessInfo> members;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (!proc) return {};
  while (const dirent* entry = ::readdir(proc.get())) {
    const std::optional<std::int64_t> pid = parse_pid(entry->d_name);
    if (!pid) continue;
    const std::optional<ProcessInfo> info = find_process(*pid);
    if (info && info->group == group && is_running(*info)) members.push_back(*info);
  }
  return members;
}

std::vector<std::int64_t> kin_of(std::int64_t pid) {
  constexpr int generations_max = 256;  // a walk through what changes meanwhile must end
  const auto self = find_process(pid);
  if (self && !is_running(*self)) return {};
  // Of a process that /proc hides from this user the kernel still says that it is there.
  const bool may_be_there = ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
  if (!self && !may_be_there && has_pids_of_host()) return {};
  std::vector<std::int64_t> kin{pid};
  auto one = self;
  for (int i = 0; one && i < generations_max; ++i) {
    kin.push_back(one->group);
    if (one->parent <= 1) break;
    kin.push_back(one->parent);
    one = find_process(one->parent);
  }
  return kin;
}

std::string boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::int64_t memory_kills() {
  const Result<std::string> text = read_file("/proc/vmstat");
  if (!text) return 0;
  std::istringstream lines(*text);
  std::string name;
  std::int64_t count = 0;
  while (lines >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

std::int64_t kernel_log_time() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

std::optional<std::string> kernel_log_since(std::int64_t micros) {
  constexpr std::int64_t clocks_differ = 1'000'000;  // the log's clock is not quite CLOCK_MONOTONIC
  if (!has_pids_of_host()) return std::nullopt;
  const Descriptor log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) return std::nullopt;
  std::string text;
  std::array<char, 8192> record;  // one for each read(2)
  while (true) {
    const ssize_t size = ::read(log.get(), record.data(), record.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;  // EPIPE: overwritten meanwhile
    if (size <= 0) return text;
    const std::string_view line(record.data(), static_cast<std::size_t>(size));
    if (time_of_record(line) + clocks_differ >= micros) text.append(line);
  }
}

bool was_killed_for_memory(const std::string& log, std::int64_t pid) {
  std::istringstream lines(log);
  const std::string named = "Killed process " + std::to_string(pid) + " (";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text_at = line.find(';');  // what a program wrote there is not believed
    const bool is_of_kernel = std::atoi(line.c_str()) < 8;
    if (text_at == std::string::npos || !is_of_kernel) continue;
    const std::string text = line.substr(text_at + 1);
    const bool for_memory =
        text.starts_with("Out of memory") || text.starts_with("Memory cgroup out of memory");
    if (for_memory && text.find(named) != std::string::npos) return true;
  }
  return false;
}

}  // namespace trainyard::agent
