// Programs that say little and end soon, or do not.
#include "agent/host/short_run.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "agent/process/process_table.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

ShortRun running(const TempFolder& folder, const std::string& script,
                 std::chrono::milliseconds deadline = patience) {
  return {.process = {.argv = {"/bin/sh", "-c", script},
                      .environment = {{"PATH", "/usr/bin:/bin"}},
                      .folder = folder.path(),
                      .log_path = {}},
          .deadline = deadline,
          .bytes_max = 100};
}

std::string failure_of(const ShortRun& run, const std::stop_token& stop = {}) {
  ProcessHost host;
  const auto output = output_of(host, run, stop);
  REQUIRE_FALSE(output);
  return output.error().message;
}

}  // namespace

TEST_CASE("what a short program prints is read, of both its outputs", "[host]") {
  const TempFolder folder;
  ProcessHost host;
  const auto output = output_of(host, running(folder, "echo one; echo two >&2"), {});
  REQUIRE(output);
  CHECK(*output == "one\ntwo\n");
  CHECK(last_line(*output) == "two");
  CHECK(last_line("").empty());
  CHECK(last_line("\n\n").empty());
  CHECK(last_line("no end") == "no end");
}

TEST_CASE("a short program that fails is told with its last words", "[host]") {
  const TempFolder folder;
  CHECK(failure_of(running(folder, "echo x; echo 'no driver' >&2; exit 3")) ==
        "ended with exit code 3: no driver");
  CHECK(failure_of(running(folder, "exit 1")) == "ended with exit code 1");
  CHECK(failure_of(running(folder, "kill -9 $$")) == "ended by signal 9");
  CHECK(failure_of(running(folder, "printf 'a%0500d' 7; exit 1")).size() < 400);
  ShortRun nothing = running(folder, "");
  nothing.process.argv = {folder.path("nothing")};
  CHECK(failure_of(nothing).starts_with("cannot start "));
}

TEST_CASE("a short program that prints too much is refused", "[host]") {
  const TempFolder folder;
  CHECK(failure_of(running(folder, "printf '%0101d' 7")) == "printed more than 100 bytes");
  CHECK(output_of(*std::make_unique<ProcessHost>(), running(folder, "printf '%0100d' 7"), {}));
}

TEST_CASE("a program that does not end is killed at the deadline, however much it prints",
          "[host]") {
  const TempFolder folder;
  for (const char* script : {"exec sleep 1000", "exec yes"}) {
    CHECK(failure_of(running(folder, script, std::chrono::milliseconds(50))) ==
          "did not end within 50 ms");
  }
}

TEST_CASE("a short program is killed as its caller is to stop", "[host]") {
  const TempFolder folder;
  std::stop_source stop;
  const std::jthread stopper([&] {
    eventually([&] { return content_of(folder.path("pid")).ends_with("\n"); });
    stop.request_stop();
  });
  CHECK(failure_of(running(folder, "echo $$ > pid; exec sleep 1000"), stop.get_token()) ==
        "the agent is to stop");
  CHECK_FALSE(find_process(std::stoll(content_of(folder.path("pid")))));
}

}  // namespace trainyard::agent
