// `trainyard local` with the real server and agent: it comes up, ends in order, and never hides an
// end.
#include <poll.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "api/client/child.h"
#include "api/client/rest.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::client {
namespace {

class Local {
 public:
  // Its own process id is the first line; what it says on stdout comes on stderr too.
  explicit Local(const std::string& flags = "") {
    const std::string command =
        "echo $$ >&2; exec " + program_path("trainyard") +
        " local --http-address 127.0.0.1:0 --agent-address 127.0.0.1:0 " + flags +
        (flags.find("--state-dir") == std::string::npos ? " --state-dir " + state_dir() : "") +
        " >&2";
    child_.emplace(Child::start("local", {"/bin/sh", "-c", command}).value());
    pid_ = std::stoi(wait_for_line("", ""));
  }

  // The first line from now on that has both texts; fails the test when none comes.
  std::string wait_for_line(const std::string& one, const std::string& other) {
    const Deadline deadline = in_patience();
    while (true) {
      while (!unread_.empty()) {
        const std::string line = unread_.front();
        unread_.pop_front();
        const bool has_both =
            line.find(one) != std::string::npos && line.find(other) != std::string::npos;
        if (has_both) return line;
      }
      if (is_past(deadline) || child_->error_output() < 0) break;
      pollfd readable{child_->error_output(), POLLIN, 0};
      poll(&readable, 1, 100);
      for (const std::string& line : child_->read_lines()) {
        all_ += line + "\n";
        unread_.push_back(line);
      }
    }
    FAIL("no line with '" << one << "' and '" << other << "' in:\n" << all_);
    return "";
  }

  int wait_for_end() {
    const Deadline deadline = in_patience();
    while (child_->running()) {
      if (is_past(deadline)) FAIL("it does not end:\n" << all_);
      poll(nullptr, 0, 10);
      child_->read_lines();
      child_->reap();
    }
    return child_->exit_status();
  }

  // The process of that name among its children; 0 = none.
  [[nodiscard]] pid_t child_named(const std::string& name) const {
    const std::string process = "/proc/" + std::to_string(pid_);
    std::ifstream children(process + "/task/" + std::to_string(pid_) + "/children");
    for (pid_t pid = 0; children >> pid;) {
      std::string command;
      std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> command;
      if (command == name) return pid;
    }
    return 0;
  }

  [[nodiscard]] std::string state_dir() const { return folder_.path("state"); }
  void signal(int number) const { child_->send_signal(number); }
  [[nodiscard]] std::string log_of(const std::string& name) const {
    return content_of(folder_.path("state/" + name + ".log"));
  }

 private:
  TempFolder folder_;
  std::optional<Child> child_;
  pid_t pid_ = 0;
  std::deque<std::string> unread_;
  std::string all_;
};

// The long options that the help of a program lists.
std::set<std::string> options_of(const std::string& program, const std::string& arguments) {
  const TempFolder folder;
  const std::string command =
      program_path(program) + " " + arguments + " > " + folder.path("help") + " 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  std::set<std::string> options;
  std::istringstream lines(content_of(folder.path("help")));
  for (std::string line; std::getline(lines, line);) {
    std::string word;
    std::istringstream words(line);
    if (words >> word && line.starts_with("  --")) options.insert(word);
  }
  return options;
}

// A process's command line, with blanks between its words.
std::string arguments_of(pid_t pid) {
  std::string words = content_of("/proc/" + std::to_string(pid) + "/cmdline");
  std::ranges::replace(words, '\0', ' ');
  return words;
}

}  // namespace

TEST_CASE("local comes up with one agent, and a signal ends both in order", "[client]") {
  Local local("--name here --cpus 4");
  const std::string line = local.wait_for_line("Trainyard is up: http://127.0.0.1:", "Ctrl-C");
  CHECK(line.find(":0/") == std::string::npos);
  const std::string next = local.wait_for_line("", "");
  CHECK_THAT(next,
             Catch::StartsWith("More agents connect to 127.0.0.1:") && !Catch::EndsWith(":0"));
  const pid_t server = local.child_named("trainyard-serve");  // the kernel keeps 15 letters
  const pid_t agent = local.child_named("trainyard-agent");
  REQUIRE(server != 0);
  REQUIRE(agent != 0);

  local.signal(SIGTERM);

  CHECK(local.wait_for_end() == 0);
  CHECK(kill(server, 0) != 0);
  CHECK(kill(agent, 0) != 0);
  CHECK(local.log_of("server").find("\"listening\"") != std::string::npos);
  CHECK(local.log_of("agent").find("\"here\"") != std::string::npos);
}

TEST_CASE("only its user may read what local keeps, that of before too [mend-A9]", "[client]") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const auto others = [](const std::string& path) {
    using std::filesystem::perms;
    return std::filesystem::status(path).permissions() & (perms::group_all | perms::others_all);
  };
  std::filesystem::create_directories(state + "/agent");
  std::ofstream(state + "/server.log") << "a line of before\n";
  std::filesystem::permissions(state + "/agent", std::filesystem::perms(0755));
  std::filesystem::permissions(state + "/server.log", std::filesystem::perms(0644));
  Local local("--state-dir " + state);
  local.wait_for_line("Trainyard is up", "");

  for (const char* name : {"/agent", "/server", "/server.log", "/server.log.1", "/agent.log",
                           "/server/trainyard.db", "/agent/lock", "/agent/tasks"}) {
    CAPTURE(name);
    CHECK(others(state + name) == std::filesystem::perms::none);
  }
  local.signal(SIGTERM);
  CHECK(local.wait_for_end() == 0);
}

TEST_CASE("local takes the agent's flags", "[client]") {
  const TempFolder elsewhere;
  Local local("--work-dir " + elsewhere.path("work") +
              " --label zone=a --label rack=2 --address 127.0.0.1 --log-level debug --name here");
  const std::string up = local.wait_for_line("Trainyard is up: http://", "");
  const std::size_t begin = up.find("http://");
  Rest rest = Rest::connect(up.substr(begin, up.find("/ ", begin) - begin)).value();

  const auto agents = rest.get_json("/v1/agents").value();

  CHECK(agents["items"][0]["labels"] == nlohmann::json{{"zone", "a"}, {"rack", "2"}});
  CHECK(std::filesystem::exists(elsewhere.path("work/lock")));
  local.signal(SIGTERM);
  CHECK(local.wait_for_end() == 0);
}

TEST_CASE("local takes all options of the daemons, but for what only a yard of many hosts needs",
          "[client]") {
  std::set<std::string> left_out{"--server",  // its own server is meant
                                 "--agents-max", "--new-agents-per-minute",
                                 "--new-agents-per-minute-of-address"};
  const std::set<std::string> own = options_of("trainyard", "local --help");
  for (const char* daemon : {"trainyard-agent", "trainyard-server"}) {
    for (const std::string& option : options_of(daemon, "--help")) {
      const bool is_everywhere = option == "--config" || option == "--version";
      if (own.contains(option) || is_everywhere) continue;
      INFO(daemon << " " << option);
      CHECK(left_out.erase(option) == 1);
    }
  }
  CHECK(left_out.empty());
}

TEST_CASE("local passes on what flags and the config file say to both daemons", "[client]") {
  const TempFolder folder;
  folder.write("page/index.html", "a page of one's own");
  folder.write("c.json", R"({"local": {"lost_after_seconds": 7, "data_cache_mb": 0, "ui_dir": ")" +
                             folder.path("page") + R"(", "label": {"zone": "a"}}})");
  Local local("--config " + folder.path("c.json") + " --stop-after-seconds 5");
  const std::string up = local.wait_for_line("Trainyard is up: http://", "");
  const std::size_t begin = up.find("http://");
  Rest rest = Rest::connect(up.substr(begin, up.find("/ ", begin) - begin)).value();

  CHECK(rest.send({.path = "/"}).value().body == "a page of one's own");
  CHECK(rest.get_json("/v1/agents").value()["items"][0]["labels"]["zone"] == "a");
  const std::string server = arguments_of(local.child_named("trainyard-serve"));
  CHECK_THAT(server, Catch::Contains(" --stop-after-seconds 5") &&
                         Catch::Contains(" --lost-after-seconds 7"));
  CHECK_THAT(arguments_of(local.child_named("trainyard-agent")),
             Catch::Contains(" --data-cache-mb 0"));
  local.signal(SIGTERM);
  CHECK(local.wait_for_end() == 0);
}

TEST_CASE("a second local on one folder is refused before it touches anything", "[client]") {
  Local first;
  first.wait_for_line("Trainyard is up", "");
  const std::string log = first.log_of("server");

  Local second("--state-dir " + first.state_dir());

  second.wait_for_line("another `trainyard local` runs on", first.state_dir());
  CHECK(second.wait_for_end() == 1);
  CHECK(first.log_of("server").starts_with(log));
  CHECK(first.log_of("server").find("\"listening\"") != std::string::npos);
}

TEST_CASE("local says when a child has ended, ends the other, and returns its status", "[client]") {
  for (const std::string name : {"trainyard-agent", "trainyard-serve"}) {
    Local local;
    local.wait_for_line("Trainyard is up", "");
    const pid_t victim = local.child_named(name);
    REQUIRE(victim != 0);

    REQUIRE(kill(victim, SIGKILL) == 0);

    local.wait_for_line(name, "was ended by signal 9 (Killed); ending");
    CHECK(local.wait_for_end() == 128 + SIGKILL);
  }
}

TEST_CASE("local passes on why a child cannot start, and ends with its status", "[client]") {
  Local local("--ports 9-1");
  local.wait_for_line("agent: ", "9-1");
  CHECK(local.wait_for_end() != 0);
}

TEST_CASE("local refuses a state folder whose database is gone, but for --adopt-state [mend-A4]",
          "[client]") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("state/server/artifacts/j-1"));
  const std::string flags = "--state-dir " + folder.path("state");
  Local refused(flags);
  refused.wait_for_line("server: ", "--adopt-state");
  CHECK(refused.wait_for_end() != 0);
  CHECK(std::filesystem::exists(folder.path("state/server/artifacts/j-1")));

  Local adopted(flags + " --adopt-state");
  adopted.wait_for_line("Trainyard is up", "");
  adopted.signal(SIGTERM);
  CHECK(adopted.wait_for_end() == 0);
  CHECK(std::filesystem::exists(folder.path("state/server/lost+found/artifacts-j-1")));
}

}  // namespace trainyard::client
