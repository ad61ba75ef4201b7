// Reading a file backwards.
#include "api/routes/log_tail.h"

#include <algorithm>
#include <fstream>

namespace trainyard::api {

std::int64_t tail_offset(const std::string& path, std::int64_t lines) {
  constexpr std::int64_t block = 64 << 10;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || lines < 0) return 0;
  const std::int64_t size = file.tellg();
  if (lines == 0) return size;
  std::string bytes;
  std::int64_t newlines = 0;
  for (std::int64_t end = size; end > 0;) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - block);
    bytes.resize(static_cast<std::size_t>(end - begin));
    file.seekg(begin);
    file.read(bytes.data(), end - begin);
    if (!file) return 0;
    for (std::int64_t at = end - 1; at >= begin; --at) {
      if (bytes[static_cast<std::size_t>(at - begin)] != '\n' || at == size - 1) continue;
      if (++newlines == lines) return at + 1;
    }
    end = begin;
  }
  return 0;
}

}  // namespace trainyard::api
