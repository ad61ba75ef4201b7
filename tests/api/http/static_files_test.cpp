// The web page's files: types, tags, the security policy, and that nothing else is served.
#include "api/http/static_files.h"

#include <catch2/catch.hpp>

#include "api/http/server.h"
#include "tests/api/http/raw_client.h"
#include "tests/support/temp_folder.h"

using namespace trainyard;
using namespace trainyard::api;

namespace {

struct WebFolder : TempFolder {
  WebFolder() {
    write("README.md", "not for the web");
    write(".secret.txt", "not for anybody");
    write("js/app.js", "void 0;");
  }
};

}  // namespace

TEST_CASE("the web files of a folder are served, with a strict policy", "[http]") {
  WebFolder folder;
  folder.write("index.html", "<!doctype html>");
  auto routes = routes_for_folder(folder.path());
  REQUIRE(routes.has_value());
  const auto server = Server::start({.address = "127.0.0.1:0"}, *std::move(routes));
  REQUIRE(server.has_value());
  RawClient client((*server)->address());

  const RawResponse page = client.call("GET /");
  CHECK(page.status == 200);
  CHECK(page.body == "<!doctype html>");
  CHECK(page.headers.at("content-type") == "text/html; charset=utf-8");
  CHECK_THAT(page.headers.at("content-security-policy"), Catch::StartsWith("default-src 'none'"));
  CHECK(client.call("GET /", "If-None-Match: " + page.headers.at("etag") + "\r\n").status == 304);
  CHECK(client.call("GET /js/app.js").headers.at("content-type") ==
        "text/javascript; charset=utf-8");
  for (const char* path : {"/README.md", "/.secret.txt", "/js/../.secret.txt",
                           "/js/%2e%2e/index.html", "/..%2f..%2fetc%2fpasswd", "/js"}) {
    INFO(path);
    CHECK(client.call("GET " + std::string(path)).status == 404);
  }
  CHECK(client.call("POST /").status == 405);
  for (const char* path :
       {"/jobs", "/jobs/j-1", "/cluster", "/agents", "/submit", "/jobs/%0d%0aSet-Cookie:x"}) {
    INFO(path);
    const RawResponse sent_on = client.call("GET " + std::string(path));
    CHECK(sent_on.status == 302);
    CHECK_FALSE(sent_on.headers.contains("content-type"));
    CHECK(sent_on.headers.at("location") == "/#" + std::string(path));
    CHECK_FALSE(sent_on.headers.contains("set-cookie"));
  }
}

TEST_CASE("a folder without a page is an error that names it", "[http]") {
  WebFolder folder;

  const auto routes = routes_for_folder(folder.path());

  REQUIRE_FALSE(routes.has_value());
  CHECK_THAT(routes.error().message, Catch::Contains(folder.path()));
}
