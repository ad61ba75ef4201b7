#include "agent/process/lease_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
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
  CHECK(shim->read()->end == Time{0});  // nobody has promised anything

  REQUIRE(agent->write(Time{123'456}, Millis{60'000}));
  CHECK(shim->read()->end == Time{123'456});
  CHECK(LeaseFile::open(path)->read()->end == Time{123'456});
  CHECK(LeaseFile::open(path)->read()->stop_after == Millis{60'000});

  agent->end_now();
  CHECK(shim->read()->end == Time{0});
}

TEST_CASE("a lease file that is none is an error for a shim, and has bounds for all", "[lease]") {
  const TempFolder folder;
  CHECK_FALSE(LeaseFile::read_only(folder.path("lease")));
  write_content(folder.path("lease"), "short");
  CHECK_FALSE(LeaseFile::read_only(folder.path("lease")));

  auto file = LeaseFile::open(folder.path("lease"));
  REQUIRE(file);
  REQUIRE(file->write(Time{1}, Millis{std::numeric_limits<std::int64_t>::max()}));
  CHECK(file->read()->stop_after == Millis{24 * 3600 * 1000});
  REQUIRE(file->write(Time{1}, Millis{-5}));
  CHECK(file->read()->stop_after == Millis{1});
}

TEST_CASE("a lease that somebody cuts can be written again, and is none until then", "[lease]") {
  const TempFolder folder;
  auto agent = LeaseFile::open(folder.path("lease"));
  REQUIRE(agent);
  const auto shim = LeaseFile::read_only(folder.path("lease"));
  REQUIRE(shim);
  REQUIRE(agent->write(Time{5}, Millis{60'000}));
  REQUIRE(::truncate(folder.path("lease").c_str(), 3) == 0);
  CHECK_FALSE(shim->read());
  REQUIRE(agent->write(Time{6}, Millis{60'000}));
  CHECK(shim->read()->end == Time{6});
}

TEST_CASE("what is no file makes room for a lease", "[lease]") {
  const TempFolder folder;
  const std::string path = folder.path("lease");
  SECTION("a folder") { write_content(path + "/file", ""); }
  SECTION("a pipe") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  SECTION("a link") { REQUIRE(::symlink("/etc/passwd", path.c_str()) == 0); }
  SECTION("a link to nothing") { REQUIRE(::symlink("/no/such", path.c_str()) == 0); }
  const auto lease = LeaseFile::open(path);
  REQUIRE(lease);
  CHECK(lease->read()->end == Time{0});
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
}

}  // namespace trainyard::agent
