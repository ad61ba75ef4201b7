#include "schemas/files/sha256.h"

#include <catch2/catch.hpp>

using namespace trainyard;

// The examples of FIPS 180-4.
TEST_CASE("hashes are those of the standard", "[wire]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("data in pieces has the hash of the whole", "[wire]") {
  const std::string data(1'000'000, 'a');
  Sha256 hash;
  for (std::size_t at = 0; at < data.size(); at += 77'777) hash.add(data.substr(at, 77'777));
  Sha256 moved = std::move(hash);
  CHECK(moved.finish_hex() == sha256_hex(data));
  CHECK(sha256_hex(data) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
