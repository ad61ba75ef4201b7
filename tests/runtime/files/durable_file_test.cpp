// Files that are whole or not there.
#include "runtime/files/durable_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

TEST_CASE("a committed file is whole, under its name, with its hash", "[durable_file]") {
  const TempFolder folder;
  auto file = DurableFile::create(folder.path(), "step-7/some.bin");
  REQUIRE(file.has_value());
  REQUIRE(file->add("one ").has_value());
  REQUIRE(file->add("two").has_value());
  CHECK_FALSE(std::filesystem::exists(folder.path("step-7/some.bin")));

  const auto committed = file->commit();

  REQUIRE(committed.has_value());
  CHECK(*committed ==
        ArtifactFile{.name = "step-7/some.bin", .bytes = 7, .sha256 = sha256_hex("one two")});
  CHECK(content_of(folder.path("step-7/some.bin")) == "one two");
}

TEST_CASE("a file that is not committed leaves nothing behind", "[durable_file]") {
  const TempFolder folder;
  {
    auto file = DurableFile::create(folder.path(), "some.bin");
    REQUIRE(file.has_value());
    REQUIRE(file->add("half").has_value());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a new version takes the place of the old at once", "[durable_file]") {
  const TempFolder folder;
  for (const char* text : {"first", "second"}) {
    auto file = DurableFile::create(folder.path(), "some.bin");
    REQUIRE(file->add(text).has_value());
    REQUIRE(file->commit().has_value());
  }
  CHECK(content_of(folder.path("some.bin")) == "second");
}

TEST_CASE("what cannot be written or read is named", "[durable_file]") {
  const TempFolder folder;
  write_content(folder.path("no-folder"), "");
  const auto created = DurableFile::create(folder.path(), "no-folder/some.bin");
  REQUIRE_FALSE(created.has_value());
  CHECK(created.error().message.find("no-folder") != std::string::npos);
}

}  // namespace trainyard::runtime
