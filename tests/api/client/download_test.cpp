// Downloads appear whole or not at all, and go on where a transfer broke off.
#include "api/client/download.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "schemas/files/sha256.h"
#include "schemas/wire/safetensors.h"
#include "tests/api/client/peer.h"
#include "tests/support/temp_folder.h"

namespace trainyard::client {
namespace {

std::string a_model_file() {
  SafetensorsHeader header;
  header.entries.push_back({.name = "dense_0/bias", .dtype = "F32", .shape = {100}});
  const std::string head = *encode_safetensors_header(header);
  std::string data(400, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i);
  return head + data;
}

std::string whole(const std::string& body, const std::string& etag) {
  return http_answer("200 OK", body, "ETag: \"" + etag + "\"\r\n");
}

}  // namespace

TEST_CASE("a download is the server's bytes under the name asked for", "[client]") {
  const TempFolder folder;
  const std::string model = a_model_file();
  Peer peer({whole(model, sha256_hex(model))});
  Rest rest = Rest::connect(peer.url()).value();

  const auto done = download_model(rest, {.path = "/m", .file = folder.path("m.safetensors")});

  REQUIRE(done);
  CHECK(done->bytes == std::ssize(model));
  CHECK(done->tensors == 1);
  CHECK(done->sha256 == sha256_hex(model));
  CHECK(content_of(folder.path("m.safetensors")) == model);
  CHECK_FALSE(std::filesystem::exists(folder.path("m.safetensors.part")));
}

TEST_CASE("a broken transfer goes on where it ended", "[client]") {
  const TempFolder folder;
  const std::string model = a_model_file();
  const std::string head =
      "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: " + std::to_string(model.size()) +
      "\r\n\r\n";
  Peer peer({head + model.substr(0, 150),
             http_answer("206 Partial Content", model.substr(150), "ETag: \"e\"\r\n")});
  Rest rest = Rest::connect(peer.url()).value();

  const auto done = download_model(rest, {.path = "/m", .file = folder.path("m")});

  REQUIRE(done);
  CHECK(content_of(folder.path("m")) == model);
  const std::string second = peer.requests().at(1);
  CHECK(second.find("Range: bytes=150-\r\n") != std::string::npos);
  CHECK(second.find("If-Range: \"e\"\r\n") != std::string::npos);
}

TEST_CASE("a server that has another file by then sends all of it", "[client]") {
  const TempFolder folder;
  const std::string model = a_model_file();
  Peer peer({"HTTP/1.1 200 OK\r\nETag: \"old\"\r\nContent-Length: 999\r\n\r\nold bytes",
             whole(model, "new")});
  Rest rest = Rest::connect(peer.url()).value();

  REQUIRE(download_model(rest, {.path = "/m", .file = folder.path("m")}));

  CHECK(content_of(folder.path("m")) == model);
}

TEST_CASE("what is not whole or no model leaves no file behind", "[client]") {
  const TempFolder folder;
  const std::string model = a_model_file();
  const std::string wrong_hash(64, 'a');
  for (const std::string& answer :
       {whole("no model at all", "e"), whole(model.substr(0, model.size() - 4), "e"),
        whole(model, wrong_hash), http_answer("404 Not Found", R"({"detail":"none"})")}) {
    Peer peer({answer});
    Rest rest = Rest::connect(peer.url()).value();
    CHECK_FALSE(download_model(rest, {.path = "/m", .file = folder.path("m")}));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("an ONNX file is whole by its hash, and what is none leaves no file behind", "[client]") {
  const TempFolder folder;
  const std::string model = std::string("\x08\x08", 2) + std::string(500, 'm');
  Peer peer({whole(model, sha256_hex(model)), whole("no model", "e"),
             whole(model, std::string(64, 'a'))});
  Rest rest = Rest::connect(peer.url()).value();
  const auto onnx = [&](const char* name) {
    return download_model(rest,
                          {.path = "/m", .file = folder.path(name), .format = ModelFormat::onnx});
  };

  const auto done = onnx("m.onnx");

  REQUIRE(done);
  CHECK(done->sha256 == sha256_hex(model));
  CHECK(content_of(folder.path("m.onnx")) == model);
  const auto none = onnx("none");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Catch::Contains("no ONNX file"));
  CHECK_FALSE(onnx("other"));
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));
}

TEST_CASE("a file that is there is replaced only when asked to", "[client][mend-B10]") {
  const TempFolder folder;
  folder.write("m", "mine");
  Peer asked({http_answer("404 Not Found", R"({"detail":"no such step"})"),
              http_answer("206 Partial Content", "x")});
  Rest refused = Rest::connect(asked.url()).value();

  const auto none = download_model(refused, {.path = "/m", .file = folder.path("m")});
  const auto kept = download_model(refused, {.path = "/m", .file = folder.path("m")});

  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no such step");
  REQUIRE_FALSE(kept);
  CHECK_THAT(kept.error().message, Catch::Contains("/m is there already: --force replaces it"));
  CHECK(content_of(folder.path("m")) == "mine");

  const std::string model = a_model_file();
  Peer peer({whole(model, "e")});
  Rest rest = Rest::connect(peer.url()).value();
  REQUIRE(download_model(rest, {.path = "/m", .file = folder.path("m"), .replaces = true}));
  CHECK(content_of(folder.path("m")) == model);
}

TEST_CASE("a file that cannot be written is named", "[client]") {
  Peer peer({});
  Rest rest = Rest::connect(peer.url()).value();

  const auto done = download_model(rest, {.path = "/m", .file = "/nowhere/m"});

  REQUIRE_FALSE(done);
  CHECK(done.error().message.find("/nowhere/m") != std::string::npos);
}

}  // namespace trainyard::client
