// Children of `trainyard local`: real programs, their lines and their ends; and what their log
// lines mean.
#include "api/client/child.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "api/client/local_yard.h"
#include "tests/support/process_state.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::client {
namespace {

Child shell(const std::string& script) {
  return Child::start("test", {"/bin/sh", "-c", script}).value();
}

// Reads until the condition holds; the test fails when that takes too long.
template <class Condition>
std::vector<std::string> read_until(Child& child, Condition is_reached) {
  const Deadline deadline = in_patience();
  std::vector<std::string> lines;
  while (!is_reached(lines)) {
    if (is_past(deadline)) FAIL("waited in vain for " << child.name());
    pollfd readable{child.error_output(), POLLIN, 0};
    poll(&readable, 1, 10);
    for (std::string& line : child.read_lines()) lines.push_back(std::move(line));
    child.reap();
  }
  return lines;
}

std::vector<std::string> lines_until_end(Child& child) {
  return read_until(child,
                    [&child](const auto&) { return child.error_output() < 0 && !child.running(); });
}

std::string first_line(Child& child) {
  return read_until(child, [](const auto& lines) { return !lines.empty(); }).front();
}

}  // namespace

TEST_CASE("a child's stderr comes in whole lines, the last one without its newline", "[client]") {
  Child child = shell("echo one >&2; printf 'two\\nthree' >&2");
  CHECK(lines_until_end(child) == std::vector<std::string>{"one", "two", "three"});
  CHECK(child.exit_status() == 0);
}

TEST_CASE("a child's exit code and its signal are told apart", "[client]") {
  Child exits = shell("exit 9");
  lines_until_end(exits);
  CHECK(exits.exit_status() == 9);
  CHECK(exits.ending_words() == "exited with code 9");

  Child killed = shell("kill -9 $$");
  lines_until_end(killed);
  CHECK(killed.exit_status() == 128 + SIGKILL);
  CHECK(killed.ending_words() == "was ended by signal 9 (Killed)");
}

TEST_CASE("a child gets the signals that are sent to it", "[client]") {
  Child child =
      shell("trap 'echo told >&2; exit 3' TERM; echo up >&2; while :; do sleep 0.1; done");
  REQUIRE(first_line(child) == "up");

  child.send_signal(SIGTERM);

  CHECK(lines_until_end(child) == std::vector<std::string>{"told"});
  CHECK(child.exit_status() == 3);
}

TEST_CASE("a child ends with its handle", "[client]") {
  pid_t pid = 0;
  {
    Child child = shell("echo $$ >&2; exec sleep 1000");
    pid = std::stoi(first_line(child));
    REQUIRE(kill(pid, 0) == 0);
  }
  CHECK(kill(pid, 0) != 0);  // reaped: no zombie either
}

TEST_CASE("a child goes with a parent that is killed, whatever it makes of SIGTERM", "[client]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Child child = shell("trap '' TERM; echo $$ >&2; exec sleep 1000");
    const pid_t pid = std::stoi(first_line(child));
    if (write(ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    pause();
    _exit(1);
  }
  pid_t pid = 0;
  REQUIRE(read(ends[0], &pid, sizeof pid) == sizeof pid);
  REQUIRE(pid > 0);

  REQUIRE(kill(parent, SIGKILL) == 0);
  REQUIRE(waitpid(parent, nullptr, 0) == parent);

  CHECK(eventually([pid] { return !is_alive(pid); }));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a program that is not there cannot be started, and is named", "[client]") {
  const Result<Child> child = Child::start("x", {"/nowhere/program"});
  REQUIRE_FALSE(child);
  CHECK(child.error().message.find("/nowhere/program") != std::string::npos);
}

TEST_CASE("the server's listening line names its addresses; other lines name none", "[client]") {
  const std::string both = R"("http_address":"127.0.0.1:1","agent_address":"127.0.0.1:2")";
  CHECK(parse_listening_line(R"({"level":"info","event":"listening",)" + both + "}") ==
        ListeningAddresses{"127.0.0.1:1", "127.0.0.1:2"});
  CHECK_FALSE(parse_listening_line(R"({"event":"started",)" + both + "}"));
  CHECK_FALSE(parse_listening_line(R"({"event":"listening","http_address":"127.0.0.1:1"})"));
  CHECK_FALSE(parse_listening_line(R"({"event":"stopped"})"));
  CHECK_FALSE(parse_listening_line("listening on 127.0.0.1:1"));
}

TEST_CASE("warnings, errors and foreign lines are told; what goes well is not", "[client]") {
  CHECK(words_of_log_line(R"({"time":"t","level":"error","event":"cannot_listen","port":80})") ==
        "error: cannot_listen port=80");
  CHECK(words_of_log_line("Segmentation fault\x1b") == "Segmentation fault?");
  CHECK_FALSE(words_of_log_line(R"({"level":"info","event":"listening"})"));
}

}  // namespace trainyard::client
