// Logs: pieces that come twice, late, or not at all.
#include "scheduler/store/logs.h"

#include <catch2/catch.hpp>

#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

const TaskKey task{JobId{"j-1"}, 2, Role::worker, 1};

std::string content_of(const Logs& logs) {
  return trainyard::content_of(value_of(logs.path(task)));
}

}  // namespace

TEST_CASE("a log lies under its job, attempt, role and index", "[logs]") {
  const Logs logs("/state/logs");
  CHECK(value_of(logs.path(task)) == "/state/logs/j-1/2/worker-1.log");
  CHECK(logs.path({JobId{"../j"}, 1, Role::ps, 0}).error().code == Code::invalid);
}

TEST_CASE("pieces are appended, and each answer says where the log ends", "[logs]") {
  const TempFolder folder;
  Logs logs(folder.path("logs"));

  CHECK(value_of(logs.append(task, 0, "hello ")) == 6);
  CHECK(value_of(logs.append(task, 6, "world\n")) == 12);

  CHECK(content_of(logs) == "hello world\n");
}

TEST_CASE("a piece that comes again, whole or in part, is stored once", "[logs]") {
  const TempFolder folder;
  Logs logs(folder.path("logs"));
  value_of(logs.append(task, 0, "hello "));

  CHECK(value_of(logs.append(task, 0, "hello ")) == 6);
  CHECK(value_of(logs.append(task, 0, "hello world")) == 11);
  CHECK(value_of(logs.append(task, 2, "llo")) == 11);

  CHECK(content_of(logs) == "hello world");
}

TEST_CASE("a piece beyond the end leaves no hole: the sender hears where to go on", "[logs]") {
  const TempFolder folder;
  Logs logs(folder.path("logs"));
  value_of(logs.append(task, 0, "hello"));

  CHECK(value_of(logs.append(task, 100, "lost")) == 5);
  CHECK(logs.append(task, -1, "x").error().code == Code::invalid);

  CHECK(content_of(logs) == "hello");
}

TEST_CASE("a log that is full says so in its last line and lets the sender go on", "[logs]") {
  const TempFolder folder;
  Logs logs(folder.path("logs"), 10);

  CHECK(value_of(logs.append(task, 0, "0123456789abcdef")) == 16);
  CHECK(value_of(logs.append(task, 16, "more")) == 20);
  CHECK(value_of(logs.append(task, 16, "more")) == 20);

  CHECK(content_of(logs) == "0123456789\n[trainyard: this log is full, the rest was dropped]\n");
}
