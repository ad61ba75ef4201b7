// Files that are whole or not there.
#include "runtime/files/durable_file.h"

#include <catch2/catch.hpp>

#include "tests/runtime/files/folder.h"

namespace trainyard::runtime {

using test::Folder, test::read_text;

TEST_CASE("a committed file is whole, under its name, with its hash", "[durable_file]") {
  const Folder folder;
  auto file = DurableFile::create(folder.path(), "step-7/some.bin");
  REQUIRE(file.has_value());
  REQUIRE(file->add("one ").has_value());
  REQUIRE(file->add("two").has_value());
  CHECK_FALSE(std::filesystem::exists(folder.file("step-7/some.bin")));

  const auto committed = file->commit();

  REQUIRE(committed.has_value());
  CHECK(*committed ==
        ArtifactFile{.name = "step-7/some.bin", .bytes = 7, .sha256 = sha256_hex("one two")});
  CHECK(read_text(folder.file("step-7/some.bin")) == "one two");
}

TEST_CASE("a file that is not committed leaves nothing behind", "[durable_file]") {
  const Folder folder;
  {
    auto file = DurableFile::create(folder.path(), "some.bin");
    REQUIRE(file.has_value());
    REQUIRE(file->add("half").has_value());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a new version takes the place of the old at once", "[durable_file]") {
  const Folder folder;
  for (const char* text : {"first", "second"}) {
    auto file = DurableFile::create(folder.path(), "some.bin");
    REQUIRE(file->add(text).has_value());
    REQUIRE(file->commit().has_value());
  }
  CHECK(read_text(folder.file("some.bin")) == "second");
}

TEST_CASE("what cannot be written or read is named", "[durable_file]") {
  const Folder folder;
  test::write_text(folder.file("no-folder"), "");
  const auto created = DurableFile::create(folder.path(), "no-folder/some.bin");
  REQUIRE_FALSE(created.has_value());
  CHECK(created.error().message.find("no-folder") != std::string::npos);

  const auto missing = ReadFile::open(folder.file("missing"));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message.find("missing") != std::string::npos);
}

TEST_CASE("reading beyond the end is an error, hashing reads all", "[durable_file]") {
  const Folder folder;
  const std::string text(3'000'000, 'x');
  test::write_text(folder.file("some.bin"), text);
  const auto file = ReadFile::open(folder.file("some.bin"));
  REQUIRE(file.has_value());
  CHECK(*file->sha256() == sha256_hex(text));
  CHECK(*file->text(2'999'998, 2) == "xx");
  CHECK_FALSE(file->text(2'999'998, 3).has_value());
  CHECK_FALSE(file->text(0, -1).has_value());
  std::byte beyond[4];
  CHECK_FALSE(file->read(2'999'998, beyond).has_value());
}

}  // namespace trainyard::runtime
