#include "agent/host/tail.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "schemas/files/file.h"

namespace trainyard::agent {
namespace {

constexpr std::int64_t ending_bytes_max = 16 * 1024;

}  // namespace

Result<TailLines> read_lines(const std::string& path, std::int64_t offset, std::size_t max_bytes) {
  // With the byte before, which says whether this is the rest of a line that is too long.
  const std::size_t before = offset > 0 ? 1 : 0;
  TRY_ASSIGN(const std::string piece,
             read_piece(path, offset - static_cast<std::int64_t>(before), max_bytes + before));
  TailLines result{.lines = {}, .end = offset};
  if (piece.size() <= before) return result;
  bool is_rest = before == 1 && piece.front() != '\n';
  std::string_view left = std::string_view(piece).substr(before);
  for (std::size_t length = left.find('\n'); length != std::string_view::npos;
       length = left.find('\n')) {
    if (!std::exchange(is_rest, false)) {
      result.lines.push_back({.offset = result.end, .text = std::string(left.substr(0, length))});
    }
    result.end += static_cast<std::int64_t>(length) + 1;
    left.remove_prefix(length + 1);
  }
  if (left.size() == max_bytes) {  // no line may be this long
    if (!is_rest) result.lines.push_back({.offset = offset, .text = {}, .too_long = true});
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
