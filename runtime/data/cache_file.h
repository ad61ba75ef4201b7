// One decoded data set as a file: a head that says what it is and where its arrays lie, its key,
// then the arrays, each at a multiple of 64 bytes. Of this host alone: as memory has it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/decoded_data.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Bytes of the file that `data` makes.
std::int64_t cache_file_bytes(const std::string& key, const DecodedData& data);

// Makes the file. It is not durable: whoever reads it asks that it is of the same boot.
Status write_cache_file(const std::string& path, const std::string& key, const DecodedData& data);

// Maps the file read-only, and marks it as used: no one removes it while the mapping lives.
// `not_found` where there is none, `invalid` where it is damaged, cut short or of another key.
Result<DecodedData> map_cache_file(const std::string& path, const std::string& key);

}  // namespace trainyard::runtime
