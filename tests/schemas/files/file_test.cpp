// Files on a real disk.
#include "schemas/files/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>

#include "schemas/files/folder.h"
#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"

namespace trainyard {
namespace {

// A new folder that goes with the test.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

constexpr int to_write = O_RDWR | O_CREAT;

}  // namespace

TEST_CASE("what is written at an offset is read there", "[files]") {
  const Scratch scratch;
  const auto file = File::open(scratch.path("f"), to_write);
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
  CHECK(beyond.error().message == scratch.path("f") + " ends at byte 13");
}

TEST_CASE("what cannot be opened is named, and absence is told from the rest", "[files]") {
  const Scratch scratch;
  const auto missing = File::open(scratch.path("none"), O_RDONLY);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message.find(scratch.path("none")) != std::string::npos);

  REQUIRE(write_file_durably(scratch.path("f"), ""));
  CHECK(File::open(scratch.path("f/below"), O_RDONLY).error().code == Code::not_found);
  CHECK(File::open(scratch.path(""), O_WRONLY).error().code == Code::unavailable);
  CHECK(make_folders(scratch.path("f/below")).error().code == Code::unavailable);
}

TEST_CASE("a small file is replaced whole, and nothing is left beside it", "[files]") {
  const Scratch scratch;
  const std::string long_text(100'000, 'x');
  for (const std::string& text : {std::string("first"), long_text, std::string()}) {
    REQUIRE(write_file_durably(scratch.path("f"), text));
    CHECK(*read_file(scratch.path("f")) == text);
  }
  CHECK(names_in(scratch.path("")) == std::vector<std::string>{"f"});
  CHECK(read_file(scratch.path("none")).error().code == Code::not_found);
}

TEST_CASE("files that do not know their size are read whole", "[files]") {
  CHECK(read_file("/proc/self/status")->find("Name:") == 0);
  CHECK(read_file("/proc/sys/kernel/random/uuid")->size() == 37);
}

TEST_CASE("folders come with their parents and go with all that is in them", "[files]") {
  const Scratch scratch;
  REQUIRE(make_folders(scratch.path("a/b/c")));
  REQUIRE(make_folders(scratch.path("a/b/c")));
  REQUIRE(write_file_durably(scratch.path("a/b/c/f"), "text"));
  CHECK(remove_folder(scratch.path("a")));
  CHECK(remove_folder(scratch.path("a")));
  CHECK(names_in(scratch.path("a")).empty());
}

TEST_CASE("a file's hash is that of its bytes, however long", "[files]") {
  const Scratch scratch;
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{1} << 20, (std::size_t{2} << 20) + 7}) {
    const std::string text(length, 'y');
    REQUIRE(write_file_durably(scratch.path("f"), text));
    CHECK(*sha256_of_file(scratch.path("f")) == sha256_hex(text));
  }
  CHECK_FALSE(sha256_of_file(scratch.path("none")));
  CHECK(is_sha256(sha256_hex("")));
  CHECK_FALSE(is_sha256(std::string(64, 'A')));
  CHECK_FALSE(is_sha256(std::string(63, 'a')));
}

}  // namespace trainyard
