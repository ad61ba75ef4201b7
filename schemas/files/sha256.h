// SHA-256 (FIPS 180-4) by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/files/file.h"

namespace trainyard {

std::string sha256_hex(std::string_view data);  // 64 lower-case hex digits
bool is_sha256(std::string_view text);

// For data that comes in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void add(std::span<const std::byte> data);
  void add(std::string_view data);
  std::string finish_hex();  // once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Result<std::string> sha256_of_file(const std::string& path);
Result<std::string> sha256_of_file(const File& file);

}  // namespace trainyard
