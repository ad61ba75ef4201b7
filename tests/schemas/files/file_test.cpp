// Files on a real disk.
#include "schemas/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"
#include "tests/support/temp_folder.h"

namespace trainyard {
namespace {

constexpr int to_write = O_RDWR | O_CREAT;

}  // namespace

TEST_CASE("what is written at an offset is read there", "[files]") {
  const TempFolder folder;
  const auto file = File::open(folder.path("f"), to_write);
  REQUIRE(file);
  REQUIRE(file->write_at(0, "one two three"));
  REQUIRE(file->write_at(4, "TWO"));
  CHECK(*file->size() == 13);

  std::array<char, 20> into{};
  CHECK(*file->read_at(4, into) == 9);
  CHECK(std::string_view(into.data(), 9) == "TWO three");
  CHECK(*file->read_at(100, into) == 0);

  std::array<std::byte, 3> exactly{};
  CHECK(file->read_exactly(10, exactly));
  const Status beyond = file->read_exactly(11, exactly);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::invalid);
  CHECK(beyond.error().message == folder.path("f") + " ends at byte 13");
}

TEST_CASE("what cannot be opened is named, and absence is told from the rest", "[files]") {
  const TempFolder folder;
  const auto missing = File::open(folder.path("none"), O_RDONLY);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message.find(folder.path("none")) != std::string::npos);

  REQUIRE(write_file_durably(folder.path("f"), ""));
  CHECK(File::open(folder.path("f/below"), O_RDONLY).error().code == Code::not_found);
  CHECK(File::open(folder.path(""), O_WRONLY).error().code == Code::unavailable);
  CHECK(make_folders(folder.path("f/below")).error().code == Code::unavailable);
}

TEST_CASE("a pipe among the files is refused and holds nobody", "[files]") {
  const TempFolder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT}) {
    const auto file = File::open(pipe, flags);
    REQUIRE_FALSE(file);
    CHECK(file.error().message.find(pipe) != std::string::npos);
  }
  CHECK_FALSE(read_file(pipe));
}

TEST_CASE("what is no regular file is refused by its name where only such a file may be",
          "[files]") {
  const TempFolder folder;
  const std::string path = folder.path("f");
  SECTION("a pipe") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  SECTION("a folder") { REQUIRE(make_folders(path)); }
  SECTION("a link to a file") { REQUIRE(::symlink("/etc/passwd", path.c_str()) == 0); }
  SECTION("a link to nothing") {
    REQUIRE(::symlink(folder.path("none").c_str(), path.c_str()) == 0);
  }
  SECTION("a device") { REQUIRE(::symlink("/dev/null", path.c_str()) == 0); }
  for (const int flags : {O_RDONLY, O_WRONLY, to_write, O_WRONLY | O_CREAT | O_TRUNC}) {
    const auto file = File::open_regular(path, flags);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::unavailable);
    CHECK(file.error().message == "cannot open " + path + ": it is no regular file");
  }
  CHECK(File::open_regular(folder.path("other"), O_RDONLY).error().code == Code::not_found);
  CHECK(File::open_regular(folder.path("other"), to_write));
  CHECK_FALSE(
      File::open_regular(folder.path("none"), O_RDONLY));  // nothing was made behind the link
}

TEST_CASE("a small file is replaced whole, and nothing is left beside it", "[files]") {
  const TempFolder folder;
  const std::string long_text(100'000, 'x');
  for (const std::string& text : {std::string("first"), long_text, std::string()}) {
    REQUIRE(write_file_durably(folder.path("f"), text));
    CHECK(*read_file(folder.path("f")) == text);
  }
  CHECK(names_in(folder.path("")) == std::vector<std::string>{"f"});
  CHECK(read_file(folder.path("none")).error().code == Code::not_found);
}

TEST_CASE("files that do not know their size are read whole", "[files]") {
  CHECK(read_file("/proc/self/status")->find("Name:") == 0);
  CHECK(read_file("/proc/sys/kernel/random/uuid")->size() == 37);
}

TEST_CASE("of a stream without an end no more is read than was asked for", "[files]") {
  std::ifstream endless("/dev/zero");
  CHECK_FALSE(read_stream(endless, 100'000));
  for (const std::size_t size : std::vector<std::size_t>{0, 1, 16 * 1024, 100'000}) {
    std::istringstream exact(std::string(size, 'x'));
    CHECK(read_stream(exact, size) == std::string(size, 'x'));
    CHECK((exact.eof() && !exact.bad()));
  }
  std::istringstream longer(std::string(100'001, 'x'));
  CHECK_FALSE(read_stream(longer, 100'000));
}

TEST_CASE("what is written whole goes through no link that lies in its way", "[files]") {
  const TempFolder folder;
  REQUIRE(write_file(folder.path("victim"), "its own"));
  std::filesystem::create_symlink(folder.path("victim"), folder.path("f.new"));
  CHECK_FALSE(write_file(folder.path("f"), "text"));
  CHECK_FALSE(write_file_durably(folder.path("f"), "text"));
  CHECK(*read_file(folder.path("victim")) == "its own");
}

TEST_CASE("folders come with their parents and go with all that is in them", "[files]") {
  const TempFolder folder;
  REQUIRE(make_folders(folder.path("a/b/c")));
  REQUIRE(make_folders(folder.path("a/b/c")));
  REQUIRE(write_file_durably(folder.path("a/b/c/f"), "text"));
  CHECK(remove_folder(folder.path("a")));
  CHECK(remove_folder(folder.path("a")));
  CHECK(names_in(folder.path("a")).empty());
}

TEST_CASE("a file's hash is that of its bytes, however long", "[files]") {
  const TempFolder folder;
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{1} << 20, (std::size_t{2} << 20) + 7}) {
    const std::string text(length, 'y');
    REQUIRE(write_file_durably(folder.path("f"), text));
    CHECK(*sha256_of_file(folder.path("f")) == sha256_hex(text));
  }
  CHECK_FALSE(sha256_of_file(folder.path("none")));
  CHECK(is_sha256(sha256_hex("")));
  CHECK_FALSE(is_sha256(std::string(64, 'A')));
  CHECK_FALSE(is_sha256(std::string(63, 'a')));
}

}  // namespace trainyard
