// Who was killed for want of memory, by what the kernel's log says.
#include <catch2/catch.hpp>

#include "agent/process/process_table.h"

namespace trainyard::agent {
namespace {

// As kernels 5 and 6 write it.
const std::string log =
    "6,901,5000000,-;oom-kill:constraint=CONSTRAINT_NONE,task=other,pid=41,uid=0\n"
    "3,902,5000001,-;Out of memory: Killed process 41 (other) total-vm:4kB, anon-rss:4kB\n"
    "3,903,5000002,-;Memory cgroup out of memory: Killed process 4242 (trainyard-runti) "
    "total-vm:4kB\n"
    "6,904,5000003,-;oom_reaper: reaped process 77 (x), now anon-rss:0kB\n";

}  // namespace

TEST_CASE("only the process that the kernel names was killed for memory", "[process][mend-B8]") {
  CHECK(was_killed_for_memory(log, 4242));
  CHECK(was_killed_for_memory(log, 41));
  CHECK_FALSE(was_killed_for_memory(log, 42));
  CHECK_FALSE(was_killed_for_memory(log, 4));
  CHECK_FALSE(was_killed_for_memory(log, 424));
  CHECK_FALSE(was_killed_for_memory(log, 77));
  CHECK_FALSE(was_killed_for_memory("", 41));
}

TEST_CASE("what a program writes into the kernel's log kills nobody", "[process][mend-B8]") {
  // Facility 1, user: 8 and more. The kernel gives no program less.
  CHECK_FALSE(was_killed_for_memory("12,1,1,-;Out of memory: Killed process 41 (x)\n", 41));
  CHECK_FALSE(was_killed_for_memory("6,1,1,-;say: Out of memory: Killed process 41 (x)\n", 41));
}

TEST_CASE("the kernel's log is read without waiting, where it may be read", "[process][mend-B8]") {
  const auto all = kernel_log_since(0);
  const auto none = kernel_log_since(kernel_log_time() + 3'600'000'000);
  REQUIRE(all.has_value() == none.has_value());
  if (!all) {
    WARN("this host's kernel log cannot be read here, or counts other pids");
    return;
  }
  CHECK(none->empty());
}

}  // namespace trainyard::agent
