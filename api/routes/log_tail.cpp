// Reading a file backwards.
#include "api/routes/log_tail.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>

#include "schemas/files/file.h"

namespace trainyard::api {

Result<std::int64_t> tail_offset(const std::string& path, std::int64_t lines) {
  constexpr std::int64_t block = 64 << 10;
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDONLY));
  TRY_ASSIGN(const std::int64_t size, file.size());
  if (lines < 0) return std::int64_t{0};
  if (lines == 0) return size;
  std::string bytes;
  std::int64_t newlines = 0;
  for (std::int64_t end = size; end > 0;) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - block);
    bytes.resize(static_cast<std::size_t>(end - begin));
    TRY_ASSIGN(const std::size_t count, file.read_at(begin, bytes));
    if (count < bytes.size()) break;  // it has become shorter
    for (std::int64_t at = end - 1; at >= begin; --at) {
      if (bytes[static_cast<std::size_t>(at - begin)] != '\n' || at == size - 1) continue;
      if (++newlines == lines) return at + 1;
    }
    end = begin;
  }
  return std::int64_t{0};
}

}  // namespace trainyard::api
