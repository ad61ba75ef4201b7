// O_APPEND and one write(2) for a line: readers never see half of one but for a crash of the host.
// What a full disk cuts short is taken back, so that the next line is not glued to it.
#include "runtime/files/event_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "schemas/base/clock.h"
#include "schemas/files/file.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::runtime {

Result<EventLog> EventLog::open(const std::string& folder) {
  const std::string path = folder + "/events.jsonl";
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return system_error("cannot open " + path);
  EventLog log(fd);
  struct stat found {};
  if (::fstat(fd, &found) != 0) return system_error("cannot look at " + path);
  log.goes_on_ = found.st_size > 0;
  return log;
}

EventLog::EventLog(EventLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), goes_on_(other.goes_on_) {}

EventLog::~EventLog() {
  if (fd_ >= 0) ::close(fd_);
}

Status EventLog::append(const What& what) const {
  const std::string line =
      to_json_line({.time = read_clocks().wall, .offset = 0, .what = what}) + "\n";
  static std::mutex one_at_a_time;  // a process has one log
  const std::lock_guard lock(one_at_a_time);
  struct stat before {};
  if (::fstat(fd_, &before) != 0) return system_error("cannot look at events.jsonl");
  ssize_t written = 0;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return system_error("cannot write events.jsonl");
  if (written == static_cast<ssize_t>(line.size())) return ok();
  if (::ftruncate(fd_, before.st_size) != 0) return system_error("cannot mend events.jsonl");
  errno = ENOSPC;  // what else cuts a line short
  return system_error("cannot write events.jsonl");
}

}  // namespace trainyard::runtime
