#include "agent/host/tail.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

constexpr std::int64_t ending_bytes_max = 16 * 1024;

}  // namespace

Result<TailLines> read_lines(const std::string& path, std::int64_t offset, std::size_t max_bytes) {
  TRY_ASSIGN(const std::string piece, read_piece(path, offset, max_bytes));
  TailLines result{.lines = {}, .end = offset};
  std::string_view rest = piece;
  for (std::size_t length = rest.find('\n'); length != std::string_view::npos;
       length = rest.find('\n')) {
    result.lines.push_back({.offset = result.end, .text = std::string(rest.substr(0, length))});
    result.end += static_cast<std::int64_t>(length) + 1;
    rest.remove_prefix(length + 1);
  }
  if (result.lines.empty() && piece.size() == max_bytes) {
    // No line may be this long. Its beginning is given up here, its ending will not parse.
    result.lines.push_back({.offset = offset, .text = {}});
    result.end = offset + static_cast<std::int64_t>(max_bytes);
  }
  return result;
}

Result<std::string> read_piece(const std::string& path, std::int64_t offset,
                               std::size_t max_bytes) {
  const Result<File> file = File::open(path, O_RDONLY);
  if (!file && file.error().code == Code::not_found) return std::string();
  if (!file) return file.error();
  std::string piece(max_bytes, '\0');
  TRY_ASSIGN(const std::size_t count, file->read_at(offset, piece));
  piece.resize(count);
  return piece;
}

std::string last_lines(const std::string& path, int max_lines) {
  const std::int64_t begin = std::max<std::int64_t>(0, file_size(path) - ending_bytes_max);
  const Result<std::string> ending =
      read_piece(path, begin, static_cast<std::size_t>(ending_bytes_max));
  if (!ending) return {};

  std::size_t start = ending->size();
  if (start > 0 && ending->back() == '\n') --start;
  for (int count = 0; count < max_lines; ++count) {
    if (start == 0) return *ending;
    start = ending->rfind('\n', start - 1);
    if (start == std::string::npos) return *ending;
  }
  return ending->substr(start + 1);
}

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? std::int64_t{info.st_size} : 0;
}

}  // namespace trainyard::agent
