// Where the last lines of a log begin.
#include "api/routes/log_tail.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/scheduler/store/fixtures.h"

using namespace trainyard::api;

TEST_CASE("the last lines of a log begin where they begin, however long they are", "[routes]") {
  const trainyard::TempFolder folder;
  const std::string path = folder.path("log");
  const std::string line(100'000, 'x');
  std::ofstream(path) << "one\n" << line << "\n" << line << "\nend\n";
  const std::int64_t size = 4 + 2 * 100'001 + 4;

  CHECK(trainyard::scheduler::value_of(tail_offset(path, 0)) == size);
  CHECK(trainyard::scheduler::value_of(tail_offset(path, 1)) == size - 4);
  CHECK(trainyard::scheduler::value_of(tail_offset(path, 2)) == size - 4 - 100'001);
  CHECK(trainyard::scheduler::value_of(tail_offset(path, 4)) == 0);
  CHECK(trainyard::scheduler::value_of(tail_offset(path, 9)) == 0);
  CHECK(trainyard::scheduler::value_of(tail_offset(path, -1)) == 0);  // all of it
  CHECK(tail_offset(folder.path("none"), 3).error().code == trainyard::Code::not_found);
}
