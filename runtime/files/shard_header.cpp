#include "runtime/files/shard_header.h"

#include <algorithm>
#include <span>
#include <string>

namespace trainyard::runtime {
namespace {

Result<std::string> beginning_of(const File& file, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  TRY(file.read_exactly(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

Result<SafetensorsHeader> read_shard_header(const File& file) {
  TRY_ASSIGN(const std::int64_t file_bytes, file.size());
  TRY_ASSIGN(const std::string length, beginning_of(file, 8));
  TRY_ASSIGN(const std::int64_t header_bytes, safetensors_header_length(length));
  TRY_ASSIGN(const std::string start, beginning_of(file, std::min(8 + header_bytes, file_bytes)));
  return decode_safetensors_header(start, file_bytes);
}

}  // namespace trainyard::runtime
