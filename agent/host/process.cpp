#include "agent/host/process.h"

#define BOOST_POSIX_HAS_VFORK 1  // Boost has it for an old standard; glibc's headers set a new one

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
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
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "agent/process/pidfd.h"
#include "agent/process/process_table.h"
#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

namespace asio = boost::asio;
namespace process = boost::process;

constexpr auto group_check_interval = std::chrono::milliseconds(5);
constexpr auto watch_interval = std::chrono::milliseconds(100);

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
      is_ending_ = true;
      for (auto& [id, child] : children_) signal_child(child, SIGKILL);
      work_.reset();  // the thread ends with its last child
    });
    thread_.join();
  }

  template <class Work>
  void post(Work work) {
    asio::post(context_, std::move(work));
  }

  Result<std::int64_t> start(const ProcessSpec& spec, OnEnd on_end, IsGone is_gone) {
    if (spec.argv.empty()) return invalid("a process needs an argv");
    const KillWatch kills;
    TRY_ASSIGN(const pid_t pid, spawn(spec));
    Descriptor pidfd = open_pidfd(pid);
    if (!pidfd) {
      const Error error = system_error("cannot watch process " + std::to_string(pid));
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return error;
    }
    add(std::move(pidfd), Child{.pid = pid,
                                .exit_watch = asio::posix::stream_descriptor(context_),
                                .group_check = asio::steady_timer(context_),
                                .on_end = std::move(on_end),
                                .is_gone = std::move(is_gone),
                                .kills = kills,
                                .outlives_host = spec.outlives_host});
    return std::int64_t{pid};
  }

  void watch(const Watched& watched, OnEnd on_end, IsGone is_gone) {
    const ProcessName& process = watched.process;
    Descriptor pidfd = open_pidfd(process.pid);
    // Looked at behind the descriptor, which is that of whoever has the pid now.
    Presence presence = presence_in(watched.folder, process);
    if (!pidfd && presence == Presence::there) presence = Presence::unknown;
    Child child{.pid = static_cast<pid_t>(process.pid),
                .exit_watch = asio::posix::stream_descriptor(context_),
                .group_check = asio::steady_timer(context_),
                .on_end = std::move(on_end),
                .is_gone = std::move(is_gone),
                .outlives_host = true,
                .is_ours = false};
    if (presence == Presence::unknown) return watch_later(watched, std::move(child));
    if (presence == Presence::there) return add(std::move(pidfd), std::move(child));
    children_.emplace(++last_id_, std::move(child));
    end_with_group(last_id_);
  }

  void signal_group(pid_t pid, int signal) {
    // Another that had the pid may have ended, and its end not been seen.
    for (auto& [id, child] : children_) {
      if (child.pid == pid) signal_child(child, signal);
    }
  }

 private:
  struct Child {
    pid_t pid = 0;
    asio::posix::stream_descriptor exit_watch;  // a pidfd: readable once the process has ended
    asio::steady_timer group_check;
    OnEnd on_end;
    IsGone is_gone;
    KillWatch kills = {};
    bool outlives_host = false;
    bool is_ours = true;  // else it is another's child, and not to be waited for
    bool killed_by_us = false;
    ProcessEnd end = {};
  };

  static void signal_child(Child& child, int signal) {
    if (!child.exit_watch.is_open()) return;  // it has ended
    if (signal == SIGKILL) child.killed_by_us = true;
    if (!child.outlives_host) {
      ::kill(-child.pid, signal);
      return;
    }
    // By its descriptor: another process may have reaped it. And alone: what it starts is in its
    // group for a moment.
    const int shim = child.exit_watch.native_handle();
    send_signal(shim, signal == SIGKILL ? SIGUSR1 : signal);
    if (signal == SIGKILL) send_signal(shim, SIGCONT);  // somebody may have stopped it
  }

  void add(Descriptor pidfd, Child child) {
    child.exit_watch.assign(pidfd.release());
    if (is_ending_) signal_child(child, SIGKILL);
    const std::int64_t id = ++last_id_;
    const auto entry = children_.emplace(id, std::move(child)).first;
    entry->second.exit_watch.async_wait(asio::posix::stream_descriptor::wait_read,
                                        [this, id](const boost::system::error_code&) { reap(id); });
  }

  // For want of a descriptor, perhaps: that will be mended.
  void watch_later(const Watched& watched, Child child) {
    const auto timer = std::make_shared<asio::steady_timer>(context_, watch_interval);
    timer->async_wait(
        [this, timer, watched, on_end = std::move(child.on_end),
         is_gone = std::move(child.is_gone)](const boost::system::error_code&) mutable {
          watch(watched, std::move(on_end), std::move(is_gone));
        });
  }

  void reap(std::int64_t id) {
    Child& child = children_.at(id);
    child.exit_watch.close();
    if (child.is_ours) {
      // While the leader is a zombie its pid cannot be given to anybody else, so this hits its
      // group alone.
      ::kill(-child.pid, SIGKILL);
      siginfo_t info{};
      ENSURE(::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED) == 0);
      child.end.exit = exit_status_from(info);
      child.end.killing = killing_of(child);
    }
    end_with_group(id);
  }

  static Killing killing_of(const Child& child) {
    if (child.end.exit.signal != SIGKILL) return Killing::none;
    return child.killed_by_us ? Killing::by_us : child.kills.killing_of(child.pid);
  }

  // The killed members of the group take a moment to go, the more so when they hold a GPU.
  void end_with_group(std::int64_t id) {
    Child& child = children_.at(id);
    if (child.is_gone ? child.is_gone() : is_own_group_gone(child.pid)) {
      const auto told = children_.extract(id);
      told.mapped().on_end(told.mapped().end);
      return;
    }
    child.group_check.expires_after(group_check_interval);
    child.group_check.async_wait(
        [this, id](const boost::system::error_code&) { end_with_group(id); });
  }

  static bool is_own_group_gone(pid_t pid) {
    if (running_in_group(pid).empty()) return true;
    ::kill(-pid, SIGKILL);  // again: a member may have forked while it was being killed
    return false;
  }

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::map<std::int64_t, Child> children_;  // of the thread alone
  std::int64_t last_id_ = 0;                // key of the newest: a pid may come again
  bool is_ending_ = false;
  std::thread thread_;
};

ProcessHost::ProcessHost() : reaper_(std::make_unique<Reaper>()) {}
ProcessHost::~ProcessHost() = default;

Result<std::int64_t> ProcessHost::start(const ProcessSpec& spec, OnEnd on_end, IsGone is_gone) {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::int64_t>> started;  // guarded by mutex
  reaper_->post([&] {
    const std::lock_guard lock(mutex);
    try {
      started = reaper_->start(spec, std::move(on_end), std::move(is_gone));
    } catch (const std::exception& error) {  // Boost throws where it cannot fork
      started = unavailable(std::string("cannot start a process: ") + error.what());
    }
    answered.notify_one();  // under the lock: the caller's stack goes with its wake-up
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return started.has_value(); });
  return *std::move(started);
}

void ProcessHost::watch(const Watched& watched, OnEnd on_end, IsGone is_gone) {
  reaper_->post(
      [this, watched, on_end = std::move(on_end), is_gone = std::move(is_gone)]() mutable {
        reaper_->watch(watched, std::move(on_end), std::move(is_gone));
      });
}

void ProcessHost::signal_group(std::int64_t pid, int signal) {
  reaper_->post([this, pid, signal] { reaper_->signal_group(static_cast<pid_t>(pid), signal); });
}

}  // namespace trainyard::agent
