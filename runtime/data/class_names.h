// Names of classes in what a reader makes of a data set's files: two arrays of DecodedData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/decoded_data.h"

namespace trainyard::runtime {

struct PackedNames {
  std::vector<std::int64_t> ends;  // in the bytes: of each name
  std::vector<char> bytes;         // one name behind another
};
PackedNames pack_names(std::span<const std::string> names);

// Whether the arrays `at` (ends) and `at + 1` (bytes) have a name for each of `classes`, or none of
// any.
bool are_names(const DecodedData& data, std::size_t at, std::int64_t classes);
// Of arrays that are.
std::vector<std::string> unpack_names(const DecodedData& data, std::size_t at);

}  // namespace trainyard::runtime
