#include "schemas/files/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>

#include "schemas/base/check.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard {
namespace {

constexpr std::size_t token_bytes = 16;

std::string hex_of(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (std::size_t i = 0; i < count; ++i) {
    hex += digits[bytes[i] >> 4U];
    hex += digits[bytes[i] & 0xFU];
  }
  return hex;
}

}  // namespace

Result<SecretKey> SecretKey::of_file(const std::string& path) {
  SecretKey key;
  const auto content = read_file(path);
  if (content) {
    if (content->size() != key_bytes) {
      return invalid(path +
                     " holds no key of 32 bytes: restore it from a backup, or remove it "
                     "while nothing runs, and a new one is made");
    }
    std::ranges::copy(*content, key.key_.begin());
    if (::chmod(path.c_str(), 0600) != 0) return system_error("cannot change the mode of " + path);
    return key;
  }
  if (content.error().code != Code::not_found) return content.error();
  ENSURE(RAND_bytes(key.key_.data(), key_bytes) == 1);  // fails where the system has no randomness
  const std::string_view bytes(reinterpret_cast<const char*>(key.key_.data()), key_bytes);
  TRY(write_file_durably(path, bytes));
  return key;
}

std::string SecretKey::token_of(std::string_view name) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int bytes = 0;
  ENSURE(HMAC(EVP_sha256(), key_.data(), key_bytes,
              reinterpret_cast<const unsigned char*>(name.data()), name.size(), mac.data(),
              &bytes) != nullptr);
  return hex_of(mac.data(), token_bytes);
}

bool is_same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace trainyard
