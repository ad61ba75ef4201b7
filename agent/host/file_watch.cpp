#include "agent/host/file_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "schemas/base/check.h"

namespace trainyard::agent {

FileWatch::FileWatch()
    : changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ENSURE(bell_);
}

int FileWatch::add(const std::string& path) {
  return changes_ ? ::inotify_add_watch(changes_.get(), path.c_str(), IN_MODIFY) : -1;
}

void FileWatch::remove(int watch) {
  if (watch >= 0) ::inotify_rm_watch(changes_.get(), watch);  // it went with its file, perhaps
}

void FileWatch::wake() { ENSURE(::eventfd_write(bell_.get(), 1) == 0); }

std::vector<int> FileWatch::wait(std::chrono::milliseconds at_most) {
  std::array<pollfd, 2> watched{pollfd{.fd = bell_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = changes_.get(), .events = POLLIN, .revents = 0}};
  std::vector<int> changed;
  if (::poll(watched.data(), watched.size(), static_cast<int>(at_most.count())) <= 0) {
    return changed;
  }
  eventfd_t rings = 0;
  if (watched[0].revents != 0) ::eventfd_read(bell_.get(), &rings);
  alignas(inotify_event) std::array<char, 16 * 1024> buffer;
  while (true) {
    const ssize_t size = ::read(changes_.get(), buffer.data(), buffer.size());
    if (size <= 0) return changed;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      changed.push_back(event.wd);  // -1: there were more than the system keeps
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

}  // namespace trainyard::agent
