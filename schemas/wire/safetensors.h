// The safetensors format: 8 bytes little-endian length of the header, a JSON header, raw
// little-endian tensors. Encoding and decoding of the header alone; tensor bytes are the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard {

struct SafetensorsEntry {
  std::string name;
  std::string dtype = "F32";
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  // bytes from the end of the header
  std::int64_t end = 0;
  bool operator==(const SafetensorsEntry&) const = default;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        // ascending, without gaps
  std::map<std::string, std::string> metadata;  // "__metadata__"
  std::int64_t data_start = 0;  // offset in the file of the first tensor byte (decoding only)
  bool operator==(const SafetensorsHeader&) const = default;
};

// Lays the entries out one after another (sets begin and end from shape and dtype) and returns the
// file's first bytes, padded with spaces so that the data starts at a multiple of 64 bytes. Refuses
// names that come twice, and shapes beyond all bounds.
Result<std::string> encode_safetensors_header(SafetensorsHeader& header);

// The length of the JSON header from the file's first 8 bytes; refuses more than 100 MB.
Result<std::int64_t> safetensors_header_length(std::string_view first_8_bytes);
// `text` is the whole beginning of the file, length field included; `file_bytes` the file's size.
// Refuses overlaps, gaps, ranges beyond the file, and shapes that do not match their ranges.
Result<SafetensorsHeader> decode_safetensors_header(std::string_view text, std::int64_t file_bytes);

}  // namespace trainyard
