// Tokens that nobody can guess or make of others: HMAC-SHA256 (RFC 2104) under a key of a file.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard {

class SecretKey {
 public:
  // The key of the file; made at random, for the owner alone, where there is no file yet. `invalid`
  // for a file that holds no key.
  static Result<SecretKey> of_file(const std::string& path);

  // 128 bits as 32 hex digits.
  [[nodiscard]] std::string token_of(std::string_view name) const;

 private:
  static constexpr std::size_t key_bytes = 32;
  std::array<unsigned char, key_bytes> key_{};
};

// Takes as long whatever they have in common.
bool is_same_secret(std::string_view one, std::string_view other);

}  // namespace trainyard
