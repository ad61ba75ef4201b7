// Files that are made once, and once more where the disk has changed them.
#include "scheduler/store/made_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"
#include "tests/scheduler/store/fixtures.h"

namespace trainyard::scheduler {
namespace {

using enum MadeFiles::Compare;

class MadeYard {
 public:
  Result<MadeFile> get(MadeFiles::Compare compare = once) {
    TRY_ASSIGN(const auto found, files.find(path, compare));
    if (found) return *found;
    ++times_made;
    TRY(write_file(path, content));
    return files.keep(path);
  }
  void restart() { files = MadeFiles(); }
  // In place, as a disk does it.
  void damage() const { std::fstream(path, std::ios::in | std::ios::out).put('X'); }

  TempFolder folder;
  const std::string content = "a model";
  const std::string path = folder.path("model-1-1.safetensors");
  const std::string sha256_path = path + std::string(sha256_suffix);
  MadeFiles files;
  int times_made = 0;
};

}  // namespace

TEST_CASE("a file is made once, over restarts too") {
  MadeYard yard;
  for (int start = 0; start < 2; ++start) {
    for (int ask = 0; ask < 2; ++ask) {
      const MadeFile file = value_of(yard.get());
      CHECK(file.path == yard.path);
      CHECK(file.sha256 == sha256_hex(yard.content));
    }
    yard.restart();
  }
  CHECK(yard.times_made == 1);
}

TEST_CASE("a made file that was damaged or cut short is made again") {
  MadeYard yard;
  value_of(yard.get());
  SECTION("while the server runs") { yard.damage(); }
  SECTION("while it was down") {
    yard.damage();
    yard.restart();
  }
  SECTION("cut") { std::filesystem::resize_file(yard.path, 3); }
  SECTION("replaced") { value_of(write_file(yard.path, "another")); }
  SECTION("its sha256 is gone") {
    std::filesystem::remove(yard.sha256_path);
    yard.restart();
  }
  SECTION("its sha256 is longer than one") {
    value_of(write_file(yard.sha256_path, sha256_hex(yard.content) + "0"));
    yard.restart();
  }
  CHECK(value_of(yard.get()).sha256 == sha256_hex(yard.content));
  CHECK(content_of(yard.path) == yard.content);
  CHECK(yard.times_made == 2);
}

TEST_CASE("what was compared is compared again only where that is asked for") {
  MadeYard yard;
  const MadeFile made = value_of(yard.get());
  value_of(write_file(yard.sha256_path, std::string(64, '0')));  // that it was compared with
  CHECK(value_of(yard.get()).sha256 == made.sha256);
  CHECK(yard.times_made == 1);
  CHECK(value_of(yard.get(always)).sha256 == made.sha256);
  CHECK(yard.times_made == 2);
}

TEST_CASE("a made file that was damaged is there no more") {
  MadeYard yard;
  value_of(yard.get());
  yard.damage();
  CHECK_FALSE(value_of(yard.files.find(yard.path, once)));
  CHECK_FALSE(std::filesystem::exists(yard.path));
  CHECK_FALSE(std::filesystem::exists(yard.sha256_path));
}

TEST_CASE("what is no file is not handed out") {
  MadeYard yard;
  value_of(write_file(yard.folder.path("secret"), "a secret"));
  std::filesystem::create_symlink(yard.folder.path("secret"), yard.path);
  CHECK(yard.get().error().code == Code::unavailable);
  CHECK(yard.times_made == 0);
}

}  // namespace trainyard::scheduler
