#include "tests/e2e/call_watch.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <vector>

#include "tests/support/process_state.h"

namespace trainyard::e2e {
namespace {

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV  // Linux 5.19; Debian 12's headers have it not yet
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

constexpr std::uint32_t kNumberAt = offsetof(seccomp_data, nr);
// The lower half of an argument.
constexpr std::uint32_t argument_at(std::size_t at) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + at * sizeof(std::uint64_t));
}

std::vector<sock_filter> filter_of(std::span<const int> calls) {
  std::vector<sock_filter> filter;
  for (const int call : calls) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumberAt));
    const bool is_write = call == SYS_write;
    const bool is_open = call == SYS_openat;
    const auto over = static_cast<std::uint8_t>(is_write || is_open ? 3 : 1);
    filter.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, over));
    if (is_write) {
      filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(2)));
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 1, 0));
    }
    if (is_open) {  // of files that it may make
      filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument_at(2)));
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// Of this thread, and of what it starts.
Descriptor listen_to_this_thread(std::span<const int> calls) {
  std::vector<sock_filter> filter = filter_of(calls);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  // A signal that is no SIGKILL does not make a call begin anew that has been seen.
  return Descriptor(static_cast<int>(::syscall(
      SYS_seccomp, SECCOMP_SET_MODE_FILTER,
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program)));
}

pid_t process_of(pid_t thread) {
  const auto process = static_cast<pid_t>(status_number(thread, "Tgid"));
  return process > 0 ? process : thread;
}

bool can_look_into_children() {
  static constexpr int known = 42;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const Descriptor file(
      static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), STDERR_FILENO, 0)));
  int read = 0;
  const iovec here{&read, sizeof read};
  const iovec there{const_cast<int*>(&known), sizeof known};  // NOLINT: it is only read
  const bool reads = ::process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof read;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return file && reads && read == known;
}

}  // namespace

WatchedCall::WatchedCall(const seccomp_notif& notice, int listener)
    : notice_(notice), listener_(listener), process_(process_of(static_cast<pid_t>(notice.pid))) {}

bool WatchedCall::still_waits() const {
  return ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &notice_.id) == 0;
}

std::string WatchedCall::memory(std::uint64_t address, std::size_t bytes) const {
  std::string all(bytes, '\0');
  const iovec here{all.data(), bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT: in another process
  const ssize_t count = ::process_vm_readv(thread(), &here, 1, &there, 1, 0);
  all.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return all;
}

std::string WatchedCall::text(std::uint64_t address) const {
  // Up to the end of its page first: what lies behind may be nobody's.
  constexpr std::uint64_t page = 4096;
  std::string all = memory(address, page - address % page);
  if (all.find('\0') == std::string::npos) all += memory(address + all.size(), page);
  return all.substr(0, all.find('\0'));
}

std::string WatchedCall::path(int file) const {
  const std::string link = "/proc/" + std::to_string(process_) + "/fd/" + std::to_string(file);
  std::error_code error;
  return std::filesystem::read_symlink(link, error).string();
}

Descriptor WatchedCall::file(int number) const {
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
}

CallWatch::CallWatch(std::span<const int> calls, Look look)
    : calls_(calls), look_(std::move(look)), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CallWatch::~CallWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  tell();
  if (watcher_.joinable()) watcher_.join();
}

void CallWatch::over(const std::function<void()>& launch) {
  if (!watcher_.joinable()) watcher_ = std::thread([this] { run(); });
  // The filter is this thread's own: the test's others make their calls freely.
  std::async(std::launch::async, [&] {
    Descriptor listener = listen_to_this_thread(calls_);
    if (!listener) throw std::runtime_error("calls cannot be watched: is_possible()");
    {
      const std::lock_guard lock(mutex_);
      listeners_.push_back(std::move(listener));
    }
    tell();
    launch();
  }).get();
}

bool CallWatch::is_possible() {
  auto listens = std::async(std::launch::async, [] {
    return static_cast<bool>(listen_to_this_thread(std::array{SYS_ptrace}));
  });
  return listens.get() && can_look_into_children();
}

void CallWatch::tell() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(news_.get(), &one, sizeof one);
}

void CallWatch::run() {
  for (;;) {
    std::vector<pollfd> news{{news_.get(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (ends_) return;
      for (const Descriptor& listener : listeners_) news.push_back({listener.get(), POLLIN, 0});
    }
    ::poll(news.data(), news.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(news_.get(), &count, sizeof count);
    for (std::size_t i = 1; i < news.size(); ++i) {
      if ((news[i].revents & POLLIN) != 0) look_at(news[i].fd);
      if ((news[i].revents & POLLHUP) != 0) forget(news[i].fd);
    }
  }
}

void CallWatch::look_at(int listener) {
  seccomp_notif notice{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) return;  // it is gone
  if (!look_(WatchedCall(notice, listener))) return;
  seccomp_notif_resp go_on{};
  go_on.id = notice.id;
  go_on.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
}

void CallWatch::forget(int listener) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [listener](const Descriptor& each) { return each.get() == listener; });
}

}  // namespace trainyard::e2e
