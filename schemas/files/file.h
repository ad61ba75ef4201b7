// Files whose reads and writes are whole or an error, which names the path and what the system
// said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard {

// `what` and the system's words for errno: not_found where there is no such path, else
// `unavailable`: a disk that is full, a permission that is missing can be mended.
Error system_error(const std::string& what);

// Whether the error is of a disk that is full, or of a quota that is used up: it says so in words
// that system_error() alone writes, which pass from program to program with it.
bool says_disk_is_full(const Error& error);

class File {
 public:
  // `flags` and `mode` as for open(2); close-on-exec always. `unavailable` where a pipe is there.
  static Result<File> open(const std::string& path, int flags, unsigned mode = 0644);
  // The same, of a file that nobody but us should have put there: `unavailable` where something
  // else than a regular file is, a symbolic link too. What it led to would be shown to anyone.
  static Result<File> open_regular(const std::string& path, int flags, unsigned mode = 0644);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Result<std::int64_t> size() const;
  // Up to `into.size()` bytes; fewer only at the end of the file.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const;
  // As many as `into` holds; `invalid` where the file ends before.
  Status read_exactly(std::int64_t offset, std::span<std::byte> into) const;
  Status write_at(std::int64_t offset, std::string_view data) const;
  [[nodiscard]] Status sync() const;  // the content is durable after this

 private:
  File(std::string path, Descriptor descriptor);

  std::string path_;
  Descriptor descriptor_;
};

}  // namespace trainyard
