// Files on their way to the server and back: whole, checked, and never from the start again.
#include "agent/link/server_calls.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "schemas/files/sha256.h"
#include "tests/agent/loop/yard.h"

namespace trainyard::agent {
namespace {

std::string a_content(std::size_t bytes) {
  std::string content(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>('a' + i * i % 23);
  return content;
}

ArtifactFile described(const std::string& content) {
  return {.name = "step-1/shard",
          .bytes = static_cast<std::int64_t>(content.size()),
          .sha256 = sha256_hex(content)};
}

ArtifactUpload an_upload(const std::string& path, const std::string& content) {
  const WantedTask task = a_wanted_task("j-1", Role::ps);
  return {.key = task.task.key, .token = task.token, .file = described(content), .path = path};
}

}  // namespace

TEST_CASE("an upload goes on where an earlier one ended, and is not repeated", "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  const std::string content = a_content(3'500'000);
  write_content(folder.path("shard"), content);
  server.put_part(sha256_hex(content), content.substr(0, 2'000'001));

  REQUIRE(calls.upload(an_upload(folder.path("shard"), content)));
  CHECK(server.bytes_received() == 1'499'999);
  CHECK((server.artifact(sha256_hex(content)) == content));

  REQUIRE(calls.upload(an_upload(folder.path("shard"), content)));
  CHECK(server.bytes_received() == 1'499'999);
}

TEST_CASE("an upload that meets a part that has grown meanwhile is tried again, a refused one not",
          "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  const std::string content = a_content(1000);
  write_content(folder.path("shard"), content);
  server.refuse_deliveries({grpc::StatusCode::FAILED_PRECONDITION, "10 bytes are stored, not 0"});
  CHECK(calls.upload(an_upload(folder.path("shard"), content)).error().code == Code::unavailable);
  server.refuse_deliveries(grpc::Status::OK);
  CHECK(calls.upload(an_upload(folder.path("shard"), content)));

  server.put_part(sha256_hex("short"), "longer than announced");
  write_content(folder.path("short"), "short");
  CHECK(calls.upload(an_upload(folder.path("short"), "short")).error().code == Code::invalid);
}

TEST_CASE("an upload of a file that is not as announced, or with a wrong token, is refused",
          "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  write_content(folder.path("shard"), "weights");

  const Status missing = calls.upload(an_upload(folder.path("none"), "weights"));
  const Status shorter = calls.upload(an_upload(folder.path("shard"), "more weights"));
  ArtifactUpload stale = an_upload(folder.path("shard"), "weights");
  stale.token = "of another attempt";
  const Status refused = calls.upload(stale);

  CHECK(missing.error().code == Code::invalid);
  CHECK(shorter.error().code == Code::invalid);
  CHECK(refused.error().code == Code::invalid);
  CHECK(server.bytes_received() == 0);
}

TEST_CASE("an empty file is stored too", "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  write_content(folder.path("shard"), "");
  CHECK(calls.upload(an_upload(folder.path("shard"), "")));
}

TEST_CASE("a download goes on where an earlier one ended, and appears whole", "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  const std::string content = a_content(1'000'000);
  server.put_artifact(content);
  const ArtifactDownload download{.key = a_wanted_task("j-1", Role::ps).task.key,
                                  .token = "token-of-j-1",
                                  .job = JobId{"j-1"},
                                  .file = described(content),
                                  .path = folder.path("in/it")};
  write_content(download.path + ".part", content.substr(0, 700'000));

  REQUIRE(calls.download(download));
  CHECK((content_of(download.path) == content));
  CHECK_FALSE(std::filesystem::exists(download.path + ".part"));
  CHECK(server.bytes_sent() == 300'000);

  REQUIRE(calls.download(download));  // it is there already
  CHECK(server.bytes_sent() == 300'000);
}

TEST_CASE("a download that is not what was announced is thrown away, and the next is right",
          "[calls]") {
  ServerDouble server;
  server.want(a_wanted_task("j-1", Role::ps));
  ServerCalls calls(server.address());
  const TempFolder folder;
  const std::string content = a_content(10'000);
  server.put_artifact(content);
  const ArtifactDownload download{.key = a_wanted_task("j-1", Role::ps).task.key,
                                  .token = "token-of-j-1",
                                  .job = JobId{"j-1"},
                                  .file = described(content),
                                  .path = folder.path("it")};
  write_content(download.path + ".part", "wrong bytes of an earlier try");

  CHECK_FALSE(calls.download(download));
  CHECK_FALSE(std::filesystem::exists(download.path));
  REQUIRE(calls.download(download));
  CHECK((content_of(download.path) == content));
}

TEST_CASE("without a server a call fails as unavailable, and after cancel at once", "[calls]") {
  ServerDouble server;
  server.close();
  ServerCalls calls(server.address());
  const LogPiece piece{
      .key = a_wanted_task("j-1").task.key, .token = "t", .offset = 0, .data = "text"};

  CHECK(calls.append_log(piece).error().code == Code::unavailable);
  calls.cancel();
  CHECK(calls.append_log(piece).error().code == Code::unavailable);
}

}  // namespace trainyard::agent
