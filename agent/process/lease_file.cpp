#include "agent/process/lease_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace trainyard::agent {
namespace {

// As it lies in the file: end and stop_after, in milliseconds. Agents and shims of different
// versions share it: its form is for ever.
using Numbers = std::array<std::int64_t, 2>;

constexpr std::int64_t stop_after_max = std::int64_t{24} * 3600 * 1000;

Result<File> open_or_replace(const std::string& path) {
  Result<File> file = File::open_regular(path, O_RDWR | O_CREAT, 0600);
  if (file) return file;
  std::error_code error;  // a pipe or a folder is no lease, and whoever had one has it still
  std::filesystem::remove_all(path, error);
  return File::open_regular(path, O_RDWR | O_CREAT, 0600);
}

}  // namespace

Result<LeaseFile> LeaseFile::open(const std::string& path) {
  TRY_ASSIGN(File file, open_or_replace(path));
  if (const int error = ::posix_fallocate(file.descriptor(), 0, sizeof(Numbers)); error != 0) {
    errno = error;
    return system_error("cannot make " + path);
  }
  return LeaseFile(std::move(file));
}

Result<LeaseFile> LeaseFile::read_only(const std::string& path) {
  TRY_ASSIGN(File file, File::open_regular(path, O_RDONLY));
  LeaseFile lease(std::move(file));
  if (!lease.read()) return invalid(path + " holds no lease");
  return lease;
}

Status LeaseFile::write(Time end, Millis stop_after) {
  if (written_ && written_->end == end && written_->stop_after == stop_after) return ok();
  const Numbers numbers{end.millis, stop_after.count};
  TRY(file_.write_at(
      0, std::string_view(reinterpret_cast<const char*>(numbers.data()), sizeof numbers)));
  written_ = Content{.end = end, .stop_after = stop_after};
  return ok();
}

std::optional<LeaseFile::Content> LeaseFile::read() const {
  std::array<char, sizeof(Numbers)> bytes{};
  const Result<std::size_t> count = file_.read_at(0, bytes);
  if (!count || *count != bytes.size()) return std::nullopt;
  Numbers numbers{};
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return Content{.end = {numbers[0]},
                 .stop_after = {std::clamp<std::int64_t>(numbers[1], 1, stop_after_max)}};
}

}  // namespace trainyard::agent
