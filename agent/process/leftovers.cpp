#include "agent/process/leftovers.h"

#include <signal.h>

#include <cerrno>
#include <filesystem>

#include "agent/process/pidfd.h"
#include "agent/process/process_table.h"

namespace trainyard::agent {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

// One that is ending has no place any more, and counts as what it was.
bool works_elsewhere(std::int64_t pid, const std::string& folder) {
  std::error_code error;
  const auto own = std::filesystem::canonical(folder, error);
  const std::string place = folder_of(pid);
  return !error && !place.empty() && place != own;
}

void end_shim(const std::string& folder, const ProcessName& name, Deadline deadline) {
  const Descriptor shim = open_pidfd(name.pid);
  // Looked at behind the descriptor, which is that of whoever has the pid now.
  if (!shim || presence_in(folder, name) != Presence::there) return;
  // Asked first: it knows what it has started, whatever is left of the records. It may be stopped.
  for (const int number : {SIGUSR1, SIGCONT}) send_signal(shim.get(), number);
  if (!has_ended(shim, deadline)) send_signal(shim.get(), SIGKILL);
}

}  // namespace

bool is_group_gone(const std::string& folder, const ProcessName& leader) {
  if (leader.boot != this_boot()) return true;
  const std::optional<ProcessInfo> now = find_process(leader.pid);
  if (now && now->start_ticks != leader.start_ticks) return true;
  if (now && is_running(*now) && works_elsewhere(leader.pid, folder)) return true;
  if (running_in_group(leader.pid).empty()) return true;
  const bool is_anothers = ::kill(static_cast<pid_t>(-leader.pid), SIGKILL) != 0 && errno == EPERM;
  return is_anothers;
}

Status end_recorded(const std::string& folder, Deadline deadline) {
  const TaskRecords records(folder);
  if (const auto record = records.shim()) end_shim(folder, record->shim, deadline);
  const auto leader = records.process();
  while (leader && !is_group_gone(folder, *leader)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return unavailable("process group " + std::to_string(leader->pid) +
                         " of an earlier agent does not die");
    }
    const auto left = running_in_group(leader->pid);
    const Descriptor member = left.empty() ? Descriptor() : open_pidfd(left.front().pid);
    if (member) has_ended(member, deadline);  // else it is forgotten by now
  }
  return ok();
}

}  // namespace trainyard::agent
