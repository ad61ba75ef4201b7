// Files as the store writes them: an owned descriptor, and writes that are whole and durable or an
// error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::scheduler {

class File {
 public:
  // `flags` and `mode` as for open(2); close-on-exec always. not_found, or `unavailable` with the
  // path.
  static Result<File> open(const std::string& path, int flags, unsigned mode = 0644);
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept;
  ~File();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] Result<std::int64_t> size() const;
  // Up to `into.size()` bytes; fewer only at the end of the file.
  Result<std::size_t> read_at(std::int64_t offset, std::span<char> into) const;
  Status write_at(std::int64_t offset, std::string_view data) const;
  [[nodiscard]] Status sync() const;

 private:
  int descriptor_;
};

Status make_folders(const std::string& path);  // with all its parents
Status sync_folder(
    const std::string& path);  // what was made or renamed in it is durable after this
// Renames within one folder, durably.
Status move_into_place(const std::string& from, const std::string& to);

// With all that is in it; nothing there is fine too.
Status remove_folder(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);  // none where there is no such folder

}  // namespace trainyard::scheduler
