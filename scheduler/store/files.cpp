#include "scheduler/store/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace trainyard::scheduler {
namespace {

Error last_error(const std::string& what) {
  const int number = errno;
  const std::string message = what + ": " + std::generic_category().message(number);
  return number == ENOENT ? not_found(message) : unavailable(message);
}

}  // namespace

Result<File> File::open(const std::string& path, int flags, unsigned mode) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (descriptor < 0) return last_error(path);
  return File(descriptor);
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::int64_t> File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return last_error("fstat");
  return std::int64_t{status.st_size};
}

Result<std::size_t> File::read_at(std::int64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(descriptor_, into.data() + done, into.size() - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error("read");
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Status File::write_at(std::int64_t offset, std::string_view data) const {
  while (!data.empty()) {
    const ssize_t count = ::pwrite(descriptor_, data.data(), data.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error("write");
    offset += count;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return ok();
}

Status File::sync() const {
  if (::fdatasync(descriptor_) != 0) return last_error("fdatasync");
  return ok();
}

Status make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return unavailable(path + ": " + error.message());
  return ok();
}

Status sync_folder(const std::string& path) {
  TRY_ASSIGN(const File folder, File::open(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.descriptor()) != 0) return last_error(path);
  return ok();
}

Status move_into_place(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return last_error(to);
  return sync_folder(std::filesystem::path(to).parent_path().string());
}

Status remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return unavailable(path + ": " + error.message());
  return ok();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace trainyard::scheduler
