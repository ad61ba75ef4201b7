#include "schemas/files/whole_file.h"

#include <fcntl.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <istream>

#include "schemas/files/file.h"
#include "schemas/files/folder.h"

namespace trainyard {

Result<std::string> read_file(const std::string& path) {
  TRY_ASSIGN(const File file, File::open(path, O_RDONLY));
  std::string content;
  std::array<char, 16 * 1024> piece;
  while (true) {
    TRY_ASSIGN(const std::size_t count, file.read_at(std::ssize(content), piece));
    content.append(piece.data(), count);
    if (count < piece.size()) return content;
  }
}

std::optional<std::string> read_stream(std::istream& input, std::size_t bytes_max) {
  std::string content;
  std::array<char, 16 * 1024> piece;
  while (input.read(piece.data(), piece.size()) || input.gcount() > 0) {
    content.append(piece.data(), static_cast<std::size_t>(input.gcount()));
    if (content.size() > bytes_max) return std::nullopt;
  }
  return content;
}

Status write_file(const std::string& path, std::string_view content) {
  const std::string aside = path + ".new";
  {
    TRY_ASSIGN(const File file, File::open_regular(aside, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    TRY(file.write_at(0, content));
  }
  if (std::rename(aside.c_str(), path.c_str()) == 0) return ok();
  return system_error("cannot rename " + aside);
}

Status write_file_durably(const std::string& path, std::string_view content) {
  const std::string aside = path + ".new";
  {
    TRY_ASSIGN(const File file, File::open_regular(aside, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    TRY(file.write_at(0, content));
    TRY(file.sync());
  }
  return move_into_place(aside, path);
}

}  // namespace trainyard
