// System calls of other processes, seen before they are made (seccomp(2), user notification). What
// a process has done for others to see is what its calls have done: between two of them nobody can
// tell where it is.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "schemas/base/descriptor.h"

namespace trainyard::e2e {

// A call whose caller waits.
class WatchedCall {
 public:
  WatchedCall(const seccomp_notif& notice, int listener);

  // False when it was killed meanwhile: then its numbers may be another's.
  [[nodiscard]] bool still_waits() const;

  [[nodiscard]] int number() const { return notice_.data.nr; }
  [[nodiscard]] std::uint64_t argument(std::size_t at) const { return notice_.data.args[at]; }
  [[nodiscard]] pid_t thread() const { return static_cast<pid_t>(notice_.pid); }
  [[nodiscard]] pid_t process() const { return process_; }

  // The caller's memory, or what there is of it.
  [[nodiscard]] std::string memory(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] std::string text(std::uint64_t address) const;
  [[nodiscard]] std::string path(int file) const;  // "" where it has no such
  // The same open file as the caller's `number`; none where it has no such.
  [[nodiscard]] Descriptor file(int number) const;

 private:
  seccomp_notif notice_;
  int listener_;
  pid_t process_;
};

class CallWatch {
 public:
  // On a thread of its own, of one call at a time. False: the caller was killed, and does not make
  // the call.
  using Look = std::function<bool(const WatchedCall&)>;

  // Of `write` those of 8 bytes are left out, which awaken threads, and of `openat` those that make
  // no file.
  CallWatch(std::span<const int> calls, Look look);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // What `launch` starts is watched, and all that this starts in turn. It ends before the watch
  // does.
  void over(const std::function<void()>& launch);

  // Not where somebody watches us by the same means already, nor where a container may not look
  // into the processes that it starts.
  static bool is_possible();

 private:
  void run();
  void look_at(int listener);
  void forget(int listener);  // nobody is left whom it watches
  void tell() const;

  std::span<const int> calls_;
  Look look_;
  Descriptor news_;  // an eventfd: another listener, or the end
  std::mutex mutex_;
  std::vector<Descriptor> listeners_;  // guarded by mutex_; one for each over()
  bool ends_ = false;                  // likewise
  std::thread watcher_;
};

}  // namespace trainyard::e2e
