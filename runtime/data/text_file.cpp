#include "runtime/data/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "runtime/data/data_file.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {

Result<std::string> read_text_file(const std::string& field, const std::string& path,
                                   std::int64_t bytes_max) {
  TRY_ASSIGN(const Descriptor file, open_data_file(field, path));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) {
    return invalid(field + ": " + path +
                   " cannot be read: " + std::generic_category().message(errno));
  }
  if (found.st_size > bytes_max) {
    return invalid(field + ": " + path + " has " + std::to_string(found.st_size) +
                   " bytes, the most is " + std::to_string(bytes_max));
  }
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return invalid(field + ": " + path +
                     " cannot be read: " + std::generic_category().message(errno));
    }
    if (count == 0) break;  // it became shorter
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

std::int64_t line_not_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return 0;
  std::int64_t line = 1;
  while (true) {  // no sequence goes over a line's end
    const std::size_t end = text.find('\n');
    if (!is_valid_utf8(text.substr(0, end))) return line;
    text.remove_prefix(end + 1);
    ++line;
  }
}

}  // namespace trainyard::runtime
