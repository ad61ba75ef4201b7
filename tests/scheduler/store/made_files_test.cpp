// Files that are made once, and once more where the disk has changed them.
#include "scheduler/store/made_files.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>

#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"
#include "tests/scheduler/store/fixtures.h"

namespace trainyard::scheduler {
namespace {

class MadeYard {
 public:
  Result<MadeFile> get() {
    return files_->get(path, [this](const std::string& at) -> Status {
      if (is_broken) return conflict("its checkpoint is damaged");
      ++times_made;
      return write_file(at, content);
    });
  }
  void restart() { files_ = std::make_unique<MadeFiles>(); }
  void damage() {
    std::string damaged = content;
    damaged[3] = 'X';
    value_of(write_file(path, damaged));
  }

  TempFolder folder;
  const std::string content = "a model";
  const std::string path = folder.path("model-1-1.safetensors");
  int times_made = 0;
  bool is_broken = false;

 private:
  std::unique_ptr<MadeFiles> files_ = std::make_unique<MadeFiles>();
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
  SECTION("its sha256 is gone") {
    std::filesystem::remove(yard.path + std::string(sum_suffix));
    yard.restart();
  }
  SECTION("its sha256 is longer than one") {
    value_of(write_file(yard.path + std::string(sum_suffix), sha256_hex(yard.content) + "0"));
    yard.restart();
  }
  CHECK(value_of(yard.get()).sha256 == sha256_hex(yard.content));
  CHECK(content_of(yard.path) == yard.content);
  CHECK(yard.times_made == 2);
}

TEST_CASE("a made file that was damaged and cannot be made again is not handed out") {
  MadeYard yard;
  value_of(yard.get());
  yard.damage();
  yard.is_broken = true;
  for (int ask = 0; ask < 2; ++ask) CHECK(yard.get().error().code == Code::conflict);
}

TEST_CASE("what is no file is not handed out") {
  MadeYard yard;
  value_of(write_file(yard.folder.path("secret"), "a secret"));
  std::filesystem::create_symlink(yard.folder.path("secret"), yard.path);
  CHECK(yard.get().error().code == Code::unavailable);
  CHECK(yard.times_made == 0);
}

}  // namespace trainyard::scheduler
