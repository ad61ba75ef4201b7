#include "runtime/data/class_names.h"

#include <algorithm>

namespace trainyard::runtime {

PackedNames pack_names(std::span<const std::string> names) {
  PackedNames packed;
  for (const std::string& name : names) {
    packed.bytes.insert(packed.bytes.end(), name.begin(), name.end());
    packed.ends.push_back(std::ssize(packed.bytes));
  }
  return packed;
}

bool are_names(const DecodedData& data, std::size_t at, std::int64_t classes) {
  const auto ends = array_of<std::int64_t>(data, at);
  const auto bytes = std::ssize(array_of<char>(data, at + 1));
  if (ends.empty()) return bytes == 0;
  return std::ssize(ends) == classes && ends.front() >= 0 && std::ranges::is_sorted(ends) &&
         ends.back() == bytes;
}

std::vector<std::string> unpack_names(const DecodedData& data, std::size_t at) {
  const auto bytes = array_of<char>(data, at + 1);
  std::vector<std::string> names;
  std::int64_t begin = 0;
  for (const std::int64_t end : array_of<std::int64_t>(data, at)) {
    names.emplace_back(bytes.begin() + begin, bytes.begin() + end);
    begin = end;
  }
  return names;
}

}  // namespace trainyard::runtime
