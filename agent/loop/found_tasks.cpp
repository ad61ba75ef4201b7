#include "agent/loop/found_tasks.h"

#include <fcntl.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "agent/loop/task_files.h"
#include "schemas/base/log.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"
#include "schemas/wire/agent_codec.h"

namespace trainyard::agent {
namespace {

constexpr const char* wanted_file = "wanted";

std::string path_in(const std::string& folder) { return folder + "/" + wanted_file; }

// As it was assigned.
Result<WantedTask> read_wanted(const std::string& folder) {
  TRY_ASSIGN(const File file, File::open_regular(path_in(folder), O_RDONLY));
  TRY_ASSIGN(const std::int64_t bytes, file.size());
  if (bytes > agent_message_bytes_max) return invalid(file.path() + " is too large");
  std::string content(static_cast<std::size_t>(bytes), '\0');
  TRY_ASSIGN(const std::size_t count, file.read_at(0, content));
  content.resize(count);
  return wanted_task_from_bytes(content);
}

Result<FoundTask> find_task(const Workdir& workdir, const std::string& folder) {
  const TaskRecords records(folder);
  const auto shim = records.shim();
  const auto process = records.process();
  if (!shim || !process) return not_found("it had not begun");
  if (shim->shim.boot != this_boot()) {
    return not_found("the host, or the container of the agent, was started anew");
  }
  TRY_ASSIGN(WantedTask wanted, read_wanted(folder));
  if (workdir.task_folder(wanted.task.key) != folder) return invalid("it is of another folder");
  const TaskFiles files{.key = {}, .token = {}, .folder = folder};
  std::error_code error;  // a link to itself is no order
  return FoundTask{.wanted = std::move(wanted),
                   .shim = *shim,
                   .pid = process->pid,
                   .was_told_to_save = std::filesystem::exists(files.save_order(), error)};
}

}  // namespace

Status write_wanted(const std::string& folder, const WantedTask& wanted) {
  return write_file(path_in(folder), to_bytes(wanted));
}

std::vector<FoundTask> find_tasks(const Workdir& workdir) {
  std::vector<FoundTask> found;
  for (const std::string& folder : workdir.task_folders()) {
    Result<FoundTask> task = find_task(workdir, folder);
    if (task) {
      log_info("task_found", {{"task", to_string(task->wanted.task.key)}, {"pid", task->pid}});
      found.push_back(*std::move(task));
    } else {
      log_info("task_not_found", {{"folder", folder}, {"message", task.error().message}});
    }
  }
  return found;
}

}  // namespace trainyard::agent
