#include "agent/process/task_records.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temp_folder.h"

namespace trainyard::agent {

TEST_CASE("records of a task's processes are read as they were written", "[records]") {
  const TempFolder folder;
  const TaskRecords records(folder.path());
  CHECK_FALSE(records.shim());
  CHECK_FALSE(records.process());
  CHECK_FALSE(records.exit());

  const auto self = name_process(::getpid());
  REQUIRE(self);
  REQUIRE(records.write(
      ShimRecord{.shim = *self, .returns = 2, .started_at = WallTime{1'700'000'000'123}}));
  REQUIRE(records.write_process(*self));
  CHECK(records.shim()->shim.pid == ::getpid());
  CHECK(records.shim()->returns == 2);
  CHECK(records.shim()->started_at == WallTime{1'700'000'000'123});
  CHECK(presence_of(records.shim()->shim) == Presence::there);
  CHECK(presence_of(*records.process()) == Presence::there);

  const ExitRecord exit = GENERATE(
      ExitRecord{.exit = {.code = 0, .signal = {}}, .time = WallTime{5}},
      ExitRecord{.exit = {.code = 9, .signal = {}}, .time = WallTime{5}},
      ExitRecord{.exit = {.code = {}, .signal = 9}, .killing = Killing::for_memory, .time = {}},
      ExitRecord{.exit = {.code = {}, .signal = 9},
                 .killing = Killing::by_us,
                 .outlived_lease = true,
                 .time = WallTime{1'700'000'000'123},
                 .was_told = true});
  REQUIRE(records.reserve_exit());
  CHECK_FALSE(records.exit());  // nothing before it is whole
  REQUIRE(records.write(exit));
  const auto read = records.exit();
  REQUIRE(read);
  CHECK(read->exit == exit.exit);
  CHECK(read->killing == exit.killing);
  CHECK(read->outlived_lease == exit.outlived_lease);
  CHECK(read->was_told == exit.was_told);
  CHECK(read->time == exit.time);

  records.remove_earlier();
  CHECK(records.shim());
  CHECK_FALSE(records.process());
  CHECK_FALSE(records.exit());
}

TEST_CASE("a process is found by boot, pid and start, never by its pid alone", "[records]") {
  const auto self = name_process(::getpid());
  REQUIRE(self);
  CHECK(presence_of(*self) == Presence::there);
  ProcessName other = *self;
  SECTION("the pid was given again") { other.start_ticks -= 1; }
  SECTION("the host was started anew") { other.boot = "another"; }
  SECTION("there is none") { other.pid = 0x3fffffff; }
  CHECK(presence_of(other) == Presence::gone);
}

TEST_CASE("records of nonsense are none", "[records]") {
  const TempFolder folder;
  const TaskRecords records(folder.path());
  const std::string text = GENERATE(
      std::string(), std::string("nonsense"), std::string("1 2 boot 0 5"),
      std::string("-7 2 b 0 5"), std::string("code 256 0 0 0 5"), std::string("code -1 0 0 0 5"),
      std::string("code 3 9 0 0 5"), std::string("code 3 0 7 0 5"), std::string("word 3 0 0 0 5"),
      std::string("code 3 0 0 0"), std::string("99999999999999999999 2 boot 0 5"),
      std::string(100'000, '7'), std::string("42 2 boot -1 5"),
      std::string("42 2 boot 0 9000000000000000000"), std::string("42 2 boot 0 -1"),
      std::string("2000000000 2 boot 0 5"), std::string("signal 128 0 0 5 0"),
      std::string("signal 0 0 0 5 0"), std::string("code 3 0 0 253402300800000 0"),
      std::string("\0\0\0", 3));
  for (const char* name : {"shim", "process", "exit"}) write_content(folder.path(name), text);
  CHECK_FALSE(records.shim());
  CHECK_FALSE(records.exit());
  if (const auto process = records.process()) CHECK(process->pid > 1);
}

TEST_CASE("a record that is no file is none", "[records]") {
  const TempFolder folder;
  for (const char* name : {"shim", "process"}) std::filesystem::create_directory(folder.path(name));
  REQUIRE(::symlink("/dev/zero", folder.path("exit").c_str()) == 0);
  const TaskRecords records(folder.path());
  CHECK_FALSE(records.shim());
  CHECK_FALSE(records.process());
  CHECK_FALSE(records.exit());
}

}  // namespace trainyard::agent
