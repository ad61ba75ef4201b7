#include "api/client/local_yard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "api/client/json_read.h"
#include "api/client/rest.h"
#include "schemas/base/clock.h"
#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"
#include "schemas/files/folder.h"

namespace trainyard::client {
namespace {

constexpr Millis tick{100};
constexpr Millis orderly_end_max = seconds(60);  // longer than the grace period of tasks, 30 s
constexpr Millis agent_end_max{2000};            // of one that is to end at once

// SIGINT, SIGTERM and SIGCHLD as something to poll, instead of handlers.
class SignalQueue {
 public:
  SignalQueue() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, &before_);
    descriptor_ = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  // How many times a person asked for the end since the last call.
  int requests_to_end() {
    int requests = 0;
    signalfd_siginfo info{};
    while (read(descriptor_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) ++requests;
    }
    return requests;
  }

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

// A child and the file that keeps what it logs; the file of the run before is kept as <name>.log.1.
struct Daemon {
  Child child;
  std::ofstream log;

  static Result<Daemon> start(const std::string& name, const std::string& state_dir,
                              std::vector<std::string> arguments) {
    TRY_ASSIGN(const std::string folder, own_program_folder());
    arguments.insert(arguments.begin(), folder + "/trainyard-" + name);
    const std::string log_path = state_dir + "/" + name + ".log";
    std::error_code no_earlier_run;
    std::filesystem::rename(log_path, log_path + ".1", no_earlier_run);
    std::ofstream log(log_path, std::ios::app);
    if (!log) return invalid("cannot write " + log_path);
    TRY_ASSIGN(Child child, Child::start(name, arguments));
    return Daemon{std::move(child), std::move(log)};
  }
};

// Held while a yard runs: another one on the folder is refused before it touches anything there.
Result<File> lock_folder(const std::string& folder) {
  TRY_ASSIGN(File lock, File::open(folder + "/lock", O_RDWR | O_CREAT));
  if (flock(lock.descriptor(), LOCK_EX | LOCK_NB) == 0) return lock;
  return conflict("another `trainyard local` runs on " + folder);
}

class LocalYard {
 public:
  explicit LocalYard(const LocalYardOptions& options) : options_(options) {}

  Result<int> run() {
    std::error_code error;
    std::filesystem::create_directories(options_.state_dir + "/server", error);
    if (error) return invalid("--state-dir: " + options_.state_dir + ": " + error.message());
    std::filesystem::create_directories(work_dir(), error);
    if (error) return invalid("--work-dir: " + work_dir() + ": " + error.message());
    TRY_ASSIGN(const File lock, lock_folder(options_.state_dir));
    // One of before let all users read them.
    for (const char* own : {"/server", "/agent", "/server.log", "/agent.log", "/lock"}) {
      TRY(keep_others_out(options_.state_dir + own));
    }
    TRY(start_server());
    while (any_running()) {
      wait_for_something();
      read_logs(server_);
      read_logs(agent_);
      if (Status started = start_agent_when_possible(); !started) return started.error();
      notice_ends();
      announce_when_ready();
      go_on_with_ending();
    }
    return exit_code_;
  }

 private:
  [[nodiscard]] std::string work_dir() const {
    return options_.agent_work_dir.empty() ? options_.state_dir + "/agent"
                                           : options_.agent_work_dir;
  }

  Status start_server() {
    std::vector<std::string> arguments{"--state-dir",     options_.state_dir + "/server",
                                       "--http-address",  options_.http_address,
                                       "--agent-address", options_.agent_address};
    arguments.insert(arguments.end(), options_.server_arguments.begin(),
                     options_.server_arguments.end());
    TRY_ASSIGN(Daemon server, Daemon::start("server", options_.state_dir, std::move(arguments)));
    server_.emplace(std::move(server));
    return ok();
  }

  Status start_agent_when_possible() {
    if (!addresses_ || agent_ || ending_since_) return ok();
    std::vector<std::string> arguments{"--server", addresses_->agents, "--work-dir", work_dir()};
    arguments.insert(arguments.end(), options_.agent_arguments.begin(),
                     options_.agent_arguments.end());
    TRY_ASSIGN(Daemon agent, Daemon::start("agent", options_.state_dir, std::move(arguments)));
    agent_.emplace(std::move(agent));
    return ok();
  }

  static bool runs(const std::optional<Daemon>& daemon) {
    return daemon && daemon->child.running();
  }
  [[nodiscard]] bool any_running() const { return runs(server_) || runs(agent_); }

  void wait_for_something() {
    std::array<pollfd, 3> descriptors{{{signals_.descriptor(), POLLIN, 0},
                                       {server_ ? server_->child.error_output() : -1, POLLIN, 0},
                                       {agent_ ? agent_->child.error_output() : -1, POLLIN, 0}}};
    const bool timed = ending_since_.has_value() || !announced_;
    poll(descriptors.data(), descriptors.size(), timed ? static_cast<int>(tick.count) : -1);
    const int requests = signals_.requests_to_end();
    for (int i = 0; i < requests; ++i) request_end();
  }

  void request_end() {
    if (ending_since_) {
      if (!killing_since_) killing_since_ = steady_now();
      return;
    }
    std::fprintf(stderr, "\nEnding the agent, then the server; once more ends them at once.\n");
    ending_since_ = steady_now();
  }

  void read_logs(std::optional<Daemon>& daemon) {
    if (!daemon) return;
    for (const std::string& line : daemon->child.read_lines()) {
      daemon->log << line << "\n";
      if (!addresses_) addresses_ = parse_listening_line(line);
      if (const auto words = words_of_log_line(line)) {
        std::fprintf(stderr, "%s: %s\n", daemon->child.name().c_str(), words->c_str());
      }
    }
    daemon->log.flush();
  }

  void notice_ends() {
    for (std::optional<Daemon>* daemon : {&server_, &agent_}) {
      if (!runs(*daemon)) continue;
      Child& child = (*daemon)->child;
      child.reap();
      if (child.running()) continue;
      read_logs(*daemon);
      if (ending_since_) continue;
      std::fprintf(stderr, "trainyard-%s %s; ending. Its log is %s/%s.log\n", child.name().c_str(),
                   child.ending_words().c_str(), options_.state_dir.c_str(), child.name().c_str());
      exit_code_ = child.exit_status() == 0 ? 1 : child.exit_status();
      ending_since_ = steady_now();
    }
  }

  // The agent first, while the server is there to take its last report.
  void go_on_with_ending() {
    if (!ending_since_) return;
    const bool is_late = steady_now() - *ending_since_ > orderly_end_max;
    if (is_late && !killing_since_) killing_since_ = steady_now();
    if (killing_since_) return kill_all();
    if (runs(agent_)) return terminate_once(*agent_, agent_told_);
    if (runs(server_)) terminate_once(*server_, server_told_);
  }
  static void terminate_once(const Daemon& daemon, bool& told) {
    if (!std::exchange(told, true)) daemon.child.send_signal(SIGTERM);
  }
  // An agent that is told a second time ends its tasks at once, which outlive one that is killed.
  void kill_all() const {
    const bool is_late = steady_now() - *killing_since_ > agent_end_max;
    if (runs(agent_)) agent_->child.send_signal(is_late ? SIGKILL : SIGTERM);
    if (runs(server_)) server_->child.send_signal(SIGKILL);
  }

  void announce_when_ready() {
    if (announced_ || !agent_ || ending_since_ || !agent_is_ready()) return;
    announced_ = true;
    std::printf("Trainyard is up: http://%s/  (state in %s; Ctrl-C ends it)\n",
                addresses_->http.c_str(), options_.state_dir.c_str());
    std::printf("More agents connect to %s\n", addresses_->agents.c_str());
    std::fflush(stdout);
  }
  [[nodiscard]] bool agent_is_ready() const {
    Result<Rest> rest = Rest::connect(addresses_->http);
    if (!rest) return false;
    const Result<Answer> answer = rest->send({.path = "/v1/agents", .timeout = seconds(1)});
    if (!answer) return false;
    const Result<nlohmann::json> agents = json_of(*answer);
    if (!agents) return false;
    for (const nlohmann::json& item : list_of(*agents, "items")) {
      if (text_of(item, "state") == "ready") return true;
    }
    return false;
  }

  const LocalYardOptions& options_;
  SignalQueue signals_;  // before the children, so that no end of theirs is missed
  std::optional<Daemon> server_;
  std::optional<Daemon> agent_;
  std::optional<ListeningAddresses> addresses_;
  std::optional<Time> ending_since_;
  std::optional<Time> killing_since_;  // at once, and not in order
  bool agent_told_ = false;
  bool server_told_ = false;
  bool announced_ = false;
  int exit_code_ = 0;
};

}  // namespace

Result<int> run_local_yard(const LocalYardOptions& options) { return LocalYard(options).run(); }

}  // namespace trainyard::client
