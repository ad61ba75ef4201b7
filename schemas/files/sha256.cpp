#include "schemas/files/sha256.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "schemas/base/check.h"
#include "schemas/files/file.h"

namespace trainyard {

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();

  // Neither can fail but for want of memory, which ends the program everywhere else too. SHA-256
  // needs nothing of OpenSSL's configuration file, whose reading takes as long as many hashes.
  Context() {
    static const int ready = ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    ENSURE(ready == 1);
    ENSURE(digest != nullptr && EVP_DigestInit_ex(digest, EVP_sha256(), nullptr) == 1);
  }
  ~Context() { EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> data) {
  ENSURE(EVP_DigestUpdate(context_->digest, data.data(), data.size()) == 1);
}

void Sha256::add(std::string_view data) { add(std::as_bytes(std::span(data))); }

std::string Sha256::finish_hex() {
  std::array<unsigned char, 32> hash{};
  ENSURE(EVP_DigestFinal_ex(context_->digest, hash.data(), nullptr) == 1);

  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * hash.size());
  for (const unsigned char byte : hash) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 0xFU];
  }
  return hex;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.add(data);
  return hash.finish_hex();
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

Result<std::string> sha256_of_file(const std::string& path) {
  TRY_ASSIGN(const File file, File::open(path, O_RDONLY));
  return sha256_of_file(file);
}

Result<std::string> sha256_of_file(const File& file) {
  Sha256 hash;
  std::string piece(1 << 20, '\0');
  std::int64_t offset = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t count, file.read_at(offset, piece));
    hash.add(std::string_view(piece).substr(0, count));
    offset += static_cast<std::int64_t>(count);
    if (count < piece.size()) return hash.finish_hex();
  }
}

}  // namespace trainyard
