#include "scheduler/store/logs.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "schemas/files/file.h"
#include "schemas/files/folder.h"

namespace trainyard::scheduler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view cut_line = "\n[trainyard: this log is full, the rest was dropped]\n";

}  // namespace

Result<std::string> Logs::path(const TaskKey& task) const {
  if (!is_id(task.job.text)) return invalid("\"" + task.job.text + "\" is no job id");
  return folder_ + "/" + task.job.text + "/" + std::to_string(task.attempt) + "/" +
         std::string(name_of(task.role)) + "-" + std::to_string(task.index) + ".log";
}

Result<std::int64_t> Logs::append(const TaskKey& task, std::int64_t offset, std::string_view data) {
  constexpr std::int64_t offset_max = std::int64_t{1} << 62;
  if (offset < 0 || offset > offset_max) {
    return invalid("a log has no offset " + std::to_string(offset));
  }
  TRY_ASSIGN(const std::string where, path(task));
  const std::int64_t wanted_end = offset + std::ssize(data);

  auto opened = File::open_regular(where, O_RDWR | O_CREAT);
  if (!opened && opened.error().code == Code::not_found) {
    TRY(make_folders(fs::path(where).parent_path().string()));
    opened = File::open_regular(where, O_RDWR | O_CREAT);
  }
  TRY_ASSIGN(const File file, std::move(opened));
  TRY_ASSIGN(const std::int64_t end, file.size());
  if (end >= bytes_max_) return wanted_end;
  if (offset > end) return end;

  const std::int64_t stored_end = std::min(wanted_end, bytes_max_);
  if (stored_end > end) {
    data.remove_prefix(static_cast<std::size_t>(end - offset));
    TRY(file.write_at(end, data.substr(0, static_cast<std::size_t>(stored_end - end))));
  }
  if (stored_end == bytes_max_) TRY(file.write_at(bytes_max_, cut_line));
  return std::max(wanted_end, end);
}

}  // namespace trainyard::scheduler
