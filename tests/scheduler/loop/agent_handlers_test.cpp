// How much of what agents say may wait for the scheduler's thread.
#include "scheduler/loop/agent_handlers.h"

#include <catch2/catch.hpp>
#include <memory>

#include "scheduler/store/reader.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

// Handlers whose loop's thread never looks.
struct HandlersYard {
  TempFolder folder;
  Store store = value_of(Store::open(folder.path("trainyard.db")));
  Artifacts artifacts{folder.path("artifacts")};
  Logs logs{folder.path("logs")};
  Scheduler::Counters counters;
  Loop loop{std::move(store), artifacts, SchedulerOptions{}, counters};
  TaskRights rights{value_of(SecretKey::of_file(folder.path("key"))),
                    value_of(Reader::open(folder.path("trainyard.db"))), artifacts};
  AgentHandlers handlers{loop, rights, artifacts, logs, {}};
  AgentCallbacks callbacks = handlers.callbacks();

  // Whether the report waits; if not, its stream may go on at once.
  bool waits(std::int64_t bytes) {
    auto taken = std::make_shared<int>();
    const std::weak_ptr<int> seen = taken;
    callbacks.report({.report = {}, .peer = "p", .bytes = bytes, .taken = std::move(taken)});
    return !seen.expired();
  }
};

}  // namespace

TEST_CASE("reports wait up to a bound of bytes, and the rest is dropped", "[loop][mend-A2]") {
  HandlersYard yard;
  int waiting = 0;
  for (int i = 0; i < 100; ++i) waiting += yard.waits(1 << 20) ? 1 : 0;
  CHECK(waiting == 32);
  CHECK_FALSE(yard.waits(1));
}

TEST_CASE("one report is let in however large it is", "[loop][mend-A2]") {
  HandlersYard yard;
  CHECK(yard.waits(std::int64_t{40} << 20));
  CHECK_FALSE(yard.waits(1));
}
