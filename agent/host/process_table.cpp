#include "agent/host/process_table.h"

#include <dirent.h>
#include <signal.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <sstream>

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
  std::int64_t parent = 0;
  if (!(fields >> info.state >> parent >> info.group)) return std::nullopt;

  std::string skipped;
  for (int field = 6; field < 22; ++field) fields >> skipped;  // start_ticks is field 22
  if (!(fields >> info.start_ticks)) return std::nullopt;
  return info;
}

bool is_running(const ProcessInfo& info) { return info.state != 'Z' && info.state != 'X'; }

std::optional<std::int64_t> parse_pid(const std::string& name) {
  std::int64_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

}  // namespace

std::optional<ProcessInfo> find_process(std::int64_t pid) {
  const Result<std::string> text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  return parse_stat(pid, *text);
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

}  // namespace trainyard::agent
