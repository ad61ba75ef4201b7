// POSIX files. Every message names the path and what the system said.
#include "runtime/files/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard::runtime {
namespace {

Error failed(const std::string& action, const std::string& path) {
  const int error = errno;
  std::string message = action + " " + path + ": " + std::generic_category().message(error);
  if (error == ENOENT) return not_found(std::move(message));
  return unavailable(std::move(message));
}

// A rename is durable once its folder is.
Status sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("cannot open", path);
  const int synced = ::fsync(fd);
  Status status = synced == 0 ? ok() : Status(failed("cannot sync", path));
  ::close(fd);
  return status;
}

// Makes the folders of `path` below `folder`, and makes them durable.
Status make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    return sync_folder(folder.parent_path().string());
  }
  if (error) return unavailable("cannot make " + folder.string() + ": " + error.message());
  return ok();
}

}  // namespace

Result<DurableFile> DurableFile::create(const std::string& folder, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  TRY(make_folders(path.parent_path()));
  const std::string aside = path.string() + ".partial";
  const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed("cannot create", aside);
  return DurableFile(folder, name, fd);
}

DurableFile::DurableFile(std::string folder, std::string name, int fd)
    : folder_(std::move(folder)), name_(std::move(name)), fd_(fd) {}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      hash_(std::move(other.hash_)) {}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(path_aside().c_str());
}

Status DurableFile::add(std::span<const std::byte> data) {
  hash_.add(data);
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("cannot write", path_aside());
    data = data.subspan(static_cast<std::size_t>(written));
    bytes_ += written;
  }
  return ok();
}

Status DurableFile::add(std::string_view data) { return add(std::as_bytes(std::span(data))); }

Result<ArtifactFile> DurableFile::commit() {
  if (::fsync(fd_) != 0) return failed("cannot sync", path_aside());
  if (::rename(path_aside().c_str(), path().c_str()) != 0) {
    return failed("cannot rename", path_aside());
  }
  ::close(std::exchange(fd_, -1));
  TRY(sync_folder(std::filesystem::path(path()).parent_path().string()));
  return ArtifactFile{.name = name_, .bytes = bytes_, .sha256 = hash_.finish_hex()};
}

Result<ReadFile> ReadFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("cannot open", path);
  struct stat about {};
  if (::fstat(fd, &about) != 0) {
    Error error = failed("cannot look at", path);
    ::close(fd);
    return error;
  }
  return ReadFile(path, fd, about.st_size);
}

ReadFile::ReadFile(std::string path, int fd, std::int64_t bytes)
    : path_(std::move(path)), fd_(fd), bytes_(bytes) {}

ReadFile::ReadFile(ReadFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}

ReadFile::~ReadFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status ReadFile::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(fd_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("cannot read", path_);
    if (count == 0) return invalid(path_ + " ends at byte " + std::to_string(offset));
    out = out.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return ok();
}

Result<std::string> ReadFile::text(std::int64_t offset, std::int64_t count) const {
  if (count < 0 || offset + count > bytes_) {
    return invalid(path_ + " is shorter than it says: " + std::to_string(bytes_) + " bytes");
  }
  std::string text(static_cast<std::size_t>(count), '\0');
  TRY(read(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

Result<std::string> ReadFile::sha256() const {
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<std::byte> piece(kPiece);
  Sha256 hash;
  for (std::int64_t offset = 0; offset < bytes_; offset += kPiece) {
    const auto count = static_cast<std::size_t>(std::min(kPiece, bytes_ - offset));
    TRY(read(offset, std::span(piece).first(count)));
    hash.add(std::span<const std::byte>(piece).first(count));
  }
  return hash.finish_hex();
}

}  // namespace trainyard::runtime
