#include "agent/host/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace trainyard::agent {
namespace {

Status write_all(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot write " + path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const OpenFile handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open() || ::fsync(handle.get()) != 0) {
    return system_error("cannot make the entries of " + folder + " durable");
  }
  return ok();
}

}  // namespace

OpenFile::~OpenFile() {
  if (is_open()) ::close(descriptor_);
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    if (is_open()) ::close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

int OpenFile::release() { return std::exchange(descriptor_, -1); }

Error system_error(const std::string& what) {
  const int number = errno;
  const std::string message = what + ": " + std::generic_category().message(number);
  switch (number) {
    case ENOENT:
    case ENOTDIR: return not_found(message);
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT: return unavailable(message);
    default: return internal(message);
  }
}

Result<std::string> read_file(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error("cannot open " + path);
  std::string content;
  char piece[16 * 1024];
  while (true) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read " + path);
    if (count == 0) return content;
    content.append(piece, static_cast<std::size_t>(count));
  }
}

Status write_file_durably(const std::string& path, std::string_view content) {
  const std::string aside = path + ".new";
  {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const OpenFile file(::open(aside.c_str(), flags, 0600));
    if (!file.is_open()) return system_error("cannot create " + aside);
    TRY(write_all(file.get(), content, aside));
    if (::fsync(file.get()) != 0) return system_error("cannot make " + aside + " durable");
  }
  if (std::rename(aside.c_str(), path.c_str()) != 0) {
    return system_error("cannot rename " + aside + " to " + path);
  }
  return sync_folder_of(path);
}

}  // namespace trainyard::agent
