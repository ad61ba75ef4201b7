#include "schemas/files/secret.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_folder.h"

using namespace trainyard;

TEST_CASE("a token is HMAC-SHA256, cut to 128 bits [mend-A9]", "[files]") {
  const TempFolder folder;
  const std::string path = folder.path("key");
  write_content(path, std::string(32, 'k'));
  // python3 -c 'import hmac; print(hmac.new(b"k"*32, b"j-1/1/ps/0", "sha256").hexdigest()[:32])'
  CHECK(SecretKey::of_file(path)->token_of("j-1/1/ps/0") == "14eea3898458a711a223f9061510571c");
}

TEST_CASE("a key is made once, at random, for its owner alone [mend-A9]", "[files]") {
  const TempFolder folder;
  const std::string path = folder.path("key");
  const std::string token = SecretKey::of_file(path)->token_of("x");
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK(status.st_size == 32);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(SecretKey::of_file(path)->token_of("x") == token);
  CHECK(SecretKey::of_file(path)->token_of("y") != token);
  CHECK(SecretKey::of_file(folder.path("other"))->token_of("x") != token);

  ::chmod(path.c_str(), 0644);
  CHECK(SecretKey::of_file(path));
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  write_content(path, "short");
  CHECK(SecretKey::of_file(path).error().code == Code::invalid);
}

TEST_CASE("secrets are the same or not", "[files]") {
  CHECK(is_same_secret("", ""));
  CHECK(is_same_secret("abc", "abc"));
  CHECK_FALSE(is_same_secret("abc", "abd"));
  CHECK_FALSE(is_same_secret("abc", "ab"));
  CHECK_FALSE(is_same_secret("", "a"));
}
