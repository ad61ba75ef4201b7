// The header of a safetensors file: what is taken lies within the file, without gaps.
#include <algorithm>

#include "schemas/base/check.h"
#include "schemas/wire/safetensors.h"
#include "tests/fuzz/fuzz.h"

using namespace trainyard;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t file_bytes = 1 << 20;
  const std::string_view bytes = fuzz::text_of(data, size);
  if (size >= 8) static_cast<void>(safetensors_header_length(bytes.substr(0, 8)));
  const auto header = decode_safetensors_header(bytes, file_bytes);
  if (!header) return 0;
  std::int64_t at = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    ENSURE(entry.begin == at && entry.end >= entry.begin);
    ENSURE(std::ranges::all_of(entry.shape, [](std::int64_t length) { return length >= 0; }));
    at = entry.end;
  }
  ENSURE(header->data_start + at <= file_bytes);
  return 0;
}
