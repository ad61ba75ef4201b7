#include "agent/process/lease_file.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/support/temp_folder.h"

namespace trainyard::agent {

TEST_CASE("what an agent writes of its lease its shims and the next agent read", "[lease]") {
  const TempFolder folder;
  const std::string path = folder.path("lease");
  auto agent = LeaseFile::open(path);
  REQUIRE(agent);
  const auto shim = LeaseFile::read_only(path);
  REQUIRE(shim);
  CHECK(shim->end() == Time{0});  // nobody has promised anything

  agent->write(Time{123'456}, Millis{60'000});
  CHECK(shim->end() == Time{123'456});
  CHECK(LeaseFile::open(path)->end() == Time{123'456});
  CHECK(LeaseFile::open(path)->stop_after() == Millis{60'000});

  agent->end_now();
  CHECK(shim->end() == Time{0});
}

TEST_CASE("a lease file that is none is an error for a shim, and has bounds for all", "[lease]") {
  const TempFolder folder;
  CHECK_FALSE(LeaseFile::read_only(folder.path("lease")));
  write_content(folder.path("lease"), "short");
  CHECK_FALSE(LeaseFile::read_only(folder.path("lease")));
  CHECK_FALSE(LeaseFile::open(folder.path("")));

  auto file = LeaseFile::open(folder.path("lease"));
  REQUIRE(file);
  file->write(Time{1}, Millis{std::numeric_limits<std::int64_t>::max()});
  CHECK(file->stop_after() == Millis{24 * 3600 * 1000});
  file->write(Time{1}, Millis{-5});
  CHECK(file->stop_after() == Millis{1});
}

}  // namespace trainyard::agent
