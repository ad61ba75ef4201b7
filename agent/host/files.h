// Whole small files, read at once and written so that a crash leaves either the old content or the
// new.
#pragma once

#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard::agent {

// An open descriptor, closed at the end of its scope.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }
  int release();

 private:
  int descriptor_ = -1;
};

// `what` and the system's own words for errno: not_found, unavailable or internal by its kind.
Error system_error(const std::string& what);

Result<std::string> read_file(const std::string& path);

// Written aside, fsynced, renamed, and its folder fsynced.
Status write_file_durably(const std::string& path, std::string_view content);

}  // namespace trainyard::agent
