#include "agent/host/process.h"

#define BOOST_POSIX_HAS_VFORK 1  // Boost has it for an old standard; glibc's headers set a new one

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "agent/process/process_table.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

namespace asio = boost::asio;
namespace process = boost::process;

constexpr auto group_check_interval = std::chrono::milliseconds(5);

// The agent's memory is not copied for a child that leaves it at once. The thread sanitizer makes
// a fork of it all the same, and the child's error would be lost.
#ifdef __SANITIZE_THREAD__
const process::extend::handler kind_of_fork;
#else
const auto& kind_of_fork = process::posix::use_vfork;
#endif

// Runs in the child between fork and exec, after a vfork in the parent's memory: only
// async-signal-safe calls are allowed, and nothing of the parent's is changed.
class ChildSetup {
 public:
  // `parent`: 0 for one that may outlive it.
  ChildSetup(pid_t parent, const char* folder) : parent_(parent), folder_(folder) {}

  template <class Executor>
  void operator()(Executor&) const {
    ::setsid();
    if (parent_ != 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent_) ::_exit(EXIT_FAILURE);  // it died before the line above
    }
    if (::chdir(folder_) != 0) ::_exit(EXIT_FAILURE);
    restore_signals();
    // After a fork (thread sanitizer) Boost's pipe that tells of a failed exec is among these.
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  }

 private:
  // Blocked and ignored signals survive an exec; a task must get its SIGTERM all the same.
  static void restore_signals() {
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) {
      ::signal(number, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  pid_t parent_;
  const char* folder_;
};

Result<pid_t> spawn(const ProcessSpec& spec) {
  std::optional<File> log;
  if (spec.output < 0) {
    TRY_ASSIGN(log, File::open(spec.log_path, O_WRONLY | O_CREAT | O_APPEND, 0640));
  }
  const int output = log ? log->descriptor() : spec.output;
  TRY_ASSIGN(const File nothing, File::open("/dev/null", O_RDONLY));
  const int input = spec.input < 0 ? nothing.descriptor() : spec.input;
  if (::access(spec.folder.c_str(), X_OK) != 0) {
    return system_error("cannot start a process in " + spec.folder);
  }

  std::vector<std::string> settings;
  for (const auto& [name, value] : spec.environment) settings.push_back(name + "=" + value);
  std::vector<char*> environment;  // as execve takes it: Boost's own reads past short entries
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
  pid_t forked = -1;
  std::error_code error;
  process::child child(
      kind_of_fork, process::exe = spec.argv.front(), process::args = arguments,
      process::extend::on_setup =
          [&environment](auto& executor) { executor.env = environment.data(); },
      process::posix::fd.bind(STDIN_FILENO, input), process::posix::fd.bind(STDOUT_FILENO, output),
      process::posix::fd.bind(STDERR_FILENO, output),
      process::extend::on_exec_setup =
          ChildSetup(spec.outlives_host ? 0 : ::getpid(), spec.folder.c_str()),
      process::extend::on_error = [&forked](auto& executor,
                                            const std::error_code&) { forked = executor.pid; },
      error);
  if (error) {
    if (forked > 0) ::waitpid(forked, nullptr, 0);  // a fork's; Boost has reaped a vfork's
    return invalid("cannot start " + spec.argv.front() + ": " + error.message());
  }
  const pid_t pid = child.id();
  child.detach();  // we wait for it ourselves
  return pid;
}

// Unlike Boost's exit code, this tells exit code 9 from SIGKILL.
ExitStatus exit_status_from(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status, .signal = std::nullopt};
  return {.code = std::nullopt, .signal = info.si_status};
}

}  // namespace

// The thread that starts and reaps. Everything but `post` happens on it: a child's death signal is
// tied to the thread that forked it.
class ProcessHost::Reaper {
 public:
  Reaper() : work_(asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}

  ~Reaper() {
    asio::post(context_, [this] {
      for (auto& [pid, child] : children_) signal_group(pid, SIGKILL);
      work_.reset();  // the thread ends with its last child
    });
    thread_.join();
  }

  template <class Work>
  void post(Work work) {
    asio::post(context_, std::move(work));
  }

  Result<std::int64_t> start(const ProcessSpec& spec, OnEnd on_end) {
    if (spec.argv.empty()) return invalid("a process needs an argv");
    const KillWatch kills;
    TRY_ASSIGN(const pid_t pid, spawn(spec));
    const int descriptor = open_pidfd(pid);
    if (descriptor < 0) {
      const Error error = system_error("cannot watch process " + std::to_string(pid));
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return error;
    }
    add(pid, Child{.exit_watch = asio::posix::stream_descriptor(context_, descriptor),
                   .group_check = asio::steady_timer(context_),
                   .on_end = std::move(on_end),
                   .kills = kills,
                   .outlives_host = spec.outlives_host});
    return std::int64_t{pid};
  }

  void watch(const ProcessName& process, OnEnd on_end) {
    const auto pid = static_cast<pid_t>(process.pid);
    const int descriptor = open_pidfd(pid);
    // Looked at behind the descriptor, which is that of whoever has the pid now.
    if (descriptor < 0 || !is_there(process) || children_.contains(pid)) {
      if (descriptor >= 0) ::close(descriptor);
      return on_end({});
    }
    add(pid, Child{.exit_watch = asio::posix::stream_descriptor(context_, descriptor),
                   .group_check = asio::steady_timer(context_),
                   .on_end = std::move(on_end),
                   .outlives_host = true,
                   .is_ours = false});
  }

  void signal_group(pid_t pid, int signal) {
    const auto found = children_.find(pid);
    if (found == children_.end()) return;
    if (signal == SIGKILL) found->second.killed_by_us = true;
    if (!found->second.outlives_host) {
      ::kill(-pid, signal);
      return;
    }
    // By its descriptor: another process may have reaped it. And alone: what it starts is in its
    // group for a moment.
    const int shim = found->second.exit_watch.native_handle();
    send_signal(shim, signal == SIGKILL ? SIGUSR1 : signal);
    if (signal == SIGKILL) send_signal(shim, SIGCONT);  // somebody may have stopped it
  }

 private:
  struct Child {
    asio::posix::stream_descriptor exit_watch;  // a pidfd: readable once the process has ended
    asio::steady_timer group_check;
    OnEnd on_end;
    KillWatch kills = {};
    bool outlives_host = false;
    bool is_ours = true;  // else it is another's child, and not to be waited for
    bool killed_by_us = false;
    ProcessEnd end = {};
  };

  static void send_signal(int pidfd, int signal) {
    ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
  }

  // glibc 2.36 declares pidfd_open without C linkage.
  static int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

  void add(pid_t pid, Child child) {
    // Whom another process has reaped may have lost its pid before its end is seen here.
    if (children_.contains(pid)) tell(pid);
    const auto [entry, added] = children_.emplace(pid, std::move(child));
    ENSURE(added);
    entry->second.exit_watch.async_wait(
        asio::posix::stream_descriptor::wait_read,
        [this, pid](const boost::system::error_code&) { reap(pid); });
  }

  void reap(pid_t pid) {
    Child& child = children_.at(pid);
    child.exit_watch.close();
    if (!child.is_ours) return tell(pid);
    // While the leader is a zombie its pid cannot be given to anybody else, so this hits its group
    // alone.
    ::kill(-pid, SIGKILL);
    siginfo_t info{};
    ENSURE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) == 0);
    child.end.exit = exit_status_from(info);
    child.end.killing = killing_of(pid, child);
    end_with_group(pid);
  }

  static Killing killing_of(pid_t pid, const Child& child) {
    if (child.end.exit.signal != SIGKILL) return Killing::none;
    return child.killed_by_us ? Killing::by_us : child.kills.killing_of(pid);
  }

  void tell(pid_t pid) {
    const auto told = children_.extract(pid);
    told.mapped().on_end(told.mapped().end);
  }

  // The killed members of the group take a moment to go, the more so when they hold a GPU.
  void end_with_group(pid_t pid) {
    Child& child = children_.at(pid);
    if (running_in_group(pid).empty()) return tell(pid);
    ::kill(-pid, SIGKILL);  // again: a member may have forked while it was being killed
    child.group_check.expires_after(group_check_interval);
    child.group_check.async_wait(
        [this, pid](const boost::system::error_code&) { end_with_group(pid); });
  }

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::map<pid_t, Child> children_;  // of the thread alone
  std::thread thread_;
};

ProcessHost::ProcessHost() : reaper_(std::make_unique<Reaper>()) {}
ProcessHost::~ProcessHost() = default;

Result<std::int64_t> ProcessHost::start(const ProcessSpec& spec, OnEnd on_end) {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::int64_t>> started;  // guarded by mutex
  reaper_->post([&] {
    const std::lock_guard lock(mutex);
    try {
      started = reaper_->start(spec, std::move(on_end));
    } catch (const std::exception& error) {  // Boost throws where it cannot fork
      started = unavailable(std::string("cannot start a process: ") + error.what());
    }
    answered.notify_one();  // under the lock: the caller's stack goes with its wake-up
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return started.has_value(); });
  return *std::move(started);
}

void ProcessHost::watch(const ProcessName& process, OnEnd on_end) {
  reaper_->post([this, process, on_end = std::move(on_end)]() mutable {
    reaper_->watch(process, std::move(on_end));
  });
}

void ProcessHost::signal_group(std::int64_t pid, int signal) {
  reaper_->post([this, pid, signal] { reaper_->signal_group(static_cast<pid_t>(pid), signal); });
}

}  // namespace trainyard::agent
