// Artifacts: uploads that break off and go on, contents that lie, names that climb.
#include "scheduler/store/artifacts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/files/folder.h"
#include "tests/scheduler/store/fixtures.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

const JobId job{"j-1"};

std::string some_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

ArtifactFile announced(const std::string& bytes) {
  return {.name = "step-1/shard", .bytes = std::ssize(bytes), .sha256 = sha256_hex(bytes)};
}

std::string content_of(const Artifacts& artifacts, const std::string& sha256) {
  const File file = value_of(artifacts.open(job, sha256));
  std::string bytes(static_cast<std::size_t>(value_of(file.size())), '\0');
  bytes.resize(value_of(file.read_at(0, bytes)));
  return bytes;
}

struct Shelf {
  TempFolder folder;
  Artifacts artifacts{folder.path("artifacts")};
  Shelf() { value_of(make_folders(folder.path("artifacts"))); }
  [[nodiscard]] std::vector<std::string> names() const {  // of what is there of the job
    return names_in(folder.path("artifacts/" + job.text));
  }
};

}  // namespace

TEST_CASE("an upload in one go is stored whole", "[artifacts]") {
  Shelf shelf;
  const std::string bytes = some_bytes(3'000'000);
  const ArtifactFile file = announced(bytes);
  CHECK(value_of(shelf.artifacts.find(job, file.sha256)).bytes == 0);

  ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));
  value_of(upload.append(std::string_view(bytes).substr(0, 1'000'000)));
  value_of(upload.append(std::string_view(bytes).substr(1'000'000)));
  CHECK(shelf.artifacts.open(job, file.sha256).error().code == Code::not_found);
  value_of(upload.finish());

  CHECK(upload.stored().complete);
  CHECK(value_of(shelf.artifacts.find(job, file.sha256)).complete);
  CHECK(content_of(shelf.artifacts, file.sha256) == bytes);
}

TEST_CASE("a file that was damaged is found out at its end, and can be brought again",
          "[artifacts]") {
  Shelf shelf;
  const std::string bytes = some_bytes(2'500'000);
  const ArtifactFile file = announced(bytes);
  const auto bring = [&] {
    ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));
    value_of(upload.append(bytes));
    value_of(upload.finish());
  };
  const auto read_from = [&](std::int64_t offset) -> Status {
    ArtifactRead read = value_of(shelf.artifacts.read(job, file.sha256));
    std::string buffer(1'000'000, '\0');
    for (std::size_t count = 1; count > 0; offset += static_cast<std::int64_t>(count)) {
      TRY_ASSIGN(count, read.read_at(offset, buffer));
    }
    return ok();
  };
  bring();
  CHECK(read_from(0));
  const std::string path = shelf.folder.path("artifacts/" + job.text + "/" + file.sha256);
  SECTION("one byte is another") {
    value_of(value_of(File::open(path, O_WRONLY)).write_at(1'200'000, "?"));
  }
  SECTION("its end is gone") { std::filesystem::resize_file(path, 2'000'000); }

  CHECK(read_from(1'000'000));  // of a part nobody can say
  CHECK(read_from(0).error().code == Code::not_found);

  CHECK_FALSE(value_of(shelf.artifacts.find(job, file.sha256)).complete);
  CHECK(shelf.artifacts.read(job, file.sha256).error().code == Code::not_found);
  bring();
  CHECK(read_from(0));
}

TEST_CASE("an upload that broke off goes on where it stopped", "[artifacts]") {
  Shelf shelf;
  const std::string bytes = some_bytes(2'500'000);
  const ArtifactFile file = announced(bytes);
  {
    ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));
    value_of(upload.append(std::string_view(bytes).substr(0, 1'234'567)));
  }
  const StoredPart part = value_of(shelf.artifacts.find(job, file.sha256));
  CHECK(part.bytes == 1'234'567);
  CHECK_FALSE(part.complete);
  CHECK(shelf.artifacts.resume(job, file, 0).error().code == Code::conflict);

  ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, part.bytes));
  value_of(upload.append(std::string_view(bytes).substr(1'234'567)));
  value_of(upload.finish());

  CHECK(content_of(shelf.artifacts, file.sha256) == bytes);
}

TEST_CASE("a content that is not what its sha256 says is refused and starts over", "[artifacts]") {
  Shelf shelf;
  const std::string bytes = some_bytes(1000);
  ArtifactFile file = announced(bytes);
  file.sha256 = sha256_hex("something else");
  {
    ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));
    value_of(upload.append(bytes));
    CHECK(upload.finish().error().code == Code::invalid);
  }

  const StoredPart part = value_of(shelf.artifacts.find(job, file.sha256));
  CHECK(part.bytes == 0);
  CHECK_FALSE(part.complete);
}

TEST_CASE("an upload is neither longer nor shorter than announced", "[artifacts]") {
  Shelf shelf;
  const ArtifactFile file = announced(some_bytes(10));
  ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));

  CHECK(upload.append(some_bytes(11)).error().code == Code::invalid);
  value_of(upload.append(some_bytes(9)));
  CHECK(upload.finish().error().code == Code::invalid);
}

TEST_CASE("of one file there is one upload at a time", "[artifacts]") {
  Shelf shelf;
  const ArtifactFile file = announced(some_bytes(10));
  {
    const ArtifactUpload first = value_of(shelf.artifacts.resume(job, file, 0));
    CHECK(shelf.artifacts.resume(job, file, 0).error().code == Code::unavailable);
  }
  CHECK(shelf.artifacts.resume(job, file, 0));
}

TEST_CASE("a file that is stored cannot be uploaded again", "[artifacts]") {
  Shelf shelf;
  const ArtifactFile file = announced("");
  value_of(value_of(shelf.artifacts.resume(job, file, 0)).finish());

  const auto again = shelf.artifacts.resume(job, file, 0);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::conflict);
  CHECK(again.error().message == "step-1/shard is stored already");
  CHECK(content_of(shelf.artifacts, file.sha256).empty());
  CHECK(shelf.names() == std::vector<std::string>{file.sha256});
}

TEST_CASE("an upload that begins where nothing is stored leaves nothing behind", "[artifacts]") {
  Shelf shelf;
  const ArtifactFile file = announced(some_bytes(10));

  const auto beyond = shelf.artifacts.resume(job, file, 5);

  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::conflict);
  CHECK(beyond.error().message == "step-1/shard: 0 bytes are stored, not 5");
  CHECK(shelf.names().empty());
}

TEST_CASE("what is no regular file is no artifact, and the file takes its place", "[artifacts]") {
  Shelf shelf;
  const std::string bytes = some_bytes(10);
  const ArtifactFile file = announced(bytes);
  const std::string folder = shelf.folder.path("artifacts/" + job.text);
  const std::string path = folder + "/" + file.sha256;
  value_of(make_folders(folder));
  SECTION("a pipe") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  SECTION("a link") { std::filesystem::create_symlink("/etc/passwd", path); }

  CHECK(shelf.artifacts.open(job, file.sha256).error().message.find(path) != std::string::npos);
  CHECK_FALSE(value_of(shelf.artifacts.find(job, file.sha256)).complete);
  ArtifactUpload upload = value_of(shelf.artifacts.resume(job, file, 0));
  value_of(upload.append(bytes));
  value_of(upload.finish());
  CHECK(content_of(shelf.artifacts, file.sha256) == bytes);
}

TEST_CASE("no upload writes through a link", "[artifacts]") {
  Shelf shelf;
  const ArtifactFile file = announced(some_bytes(10));
  const std::string folder = shelf.folder.path("artifacts/" + job.text);
  value_of(make_folders(folder));
  std::filesystem::create_symlink(shelf.folder.path("elsewhere"),
                                  folder + "/" + file.sha256 + std::string(part_suffix));

  CHECK(shelf.artifacts.resume(job, file, 0).error().code == Code::unavailable);

  CHECK_FALSE(std::filesystem::exists(shelf.folder.path("elsewhere")));
}

TEST_CASE("job ids and hashes cannot climb out of the folder", "[artifacts]") {
  Shelf shelf;
  const std::string good = sha256_hex("x");
  for (const std::string bad : {"", ".", "..", "../x", "a/b", "/etc", ".hidden"}) {
    INFO(bad);
    CHECK(shelf.artifacts.find(JobId{bad}, good).error().code == Code::invalid);
    CHECK(shelf.artifacts.resume(JobId{bad}, announced("x"), 0).error().code == Code::invalid);
    CHECK(shelf.artifacts.open(JobId{bad}, good).error().code == Code::invalid);
    CHECK(shelf.artifacts.find(job, bad).error().code == Code::invalid);
  }
  CHECK(shelf.artifacts.find(job, std::string(64, 'G')).error().code == Code::invalid);
}
