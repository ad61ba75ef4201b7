#include "schemas/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace trainyard {

namespace {

constexpr std::string_view full_words = "no space is left";

}  // namespace

Error system_error(const std::string& what) {
  const int number = errno;
  const bool is_full = number == ENOSPC || number == EDQUOT;
  const std::string said = std::generic_category().message(number);
  const std::string message =
      what + ": " + (is_full ? std::string(full_words) + " (" + said + ")" : said);
  return number == ENOENT || number == ENOTDIR ? not_found(message) : unavailable(message);
}

bool says_disk_is_full(const Error& error) {
  return error.message.find(full_words) != std::string::npos;
}

File::File(std::string path, Descriptor descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

Result<File> File::open(const std::string& path, int flags, unsigned mode) {
  // Without O_NONBLOCK a pipe that somebody put there would hold its opener for ever.
  Descriptor descriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode));
  struct stat facts {};
  if (!descriptor || ::fstat(descriptor.get(), &facts) != 0) {
    return system_error("cannot open " + path);
  }
  if (S_ISFIFO(facts.st_mode)) return unavailable("cannot open " + path + ": it is a pipe");
  return File(path, std::move(descriptor));
}

Result<File> File::open_regular(const std::string& path, int flags, unsigned mode) {
  const auto is_another = [&path] {
    return unavailable("cannot open " + path + ": it is no regular file");
  };
  auto file = open(path, flags | O_NOFOLLOW, mode);
  struct stat facts {};
  if (!file) {
    const bool is_there = ::lstat(path.c_str(), &facts) == 0;
    return is_there && !S_ISREG(facts.st_mode) ? is_another() : file.error();
  }
  if (::fstat(file->descriptor(), &facts) != 0) return system_error("cannot look at " + path);
  if (!S_ISREG(facts.st_mode)) return is_another();
  return file;
}

Result<std::int64_t> File::size() const {
  struct stat status {};
  if (::fstat(descriptor(), &status) != 0) return system_error("cannot look at " + path_);
  return std::int64_t{status.st_size};
}

Result<std::size_t> File::read_at(std::int64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(descriptor(), into.data() + done, into.size() - done,
                                  offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read " + path_);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Status File::read_exactly(std::int64_t offset, std::span<std::byte> into) const {
  const std::span<char> chars(reinterpret_cast<char*>(into.data()), into.size());
  TRY_ASSIGN(const std::size_t count, read_at(offset, chars));
  if (count == into.size()) return ok();
  return invalid(path_ + " ends at byte " +
                 std::to_string(offset + static_cast<std::int64_t>(count)));
}

Status File::write_at(std::int64_t offset, std::string_view data) const {
  while (!data.empty()) {
    const ssize_t count = ::pwrite(descriptor(), data.data(), data.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot write " + path_);
    offset += count;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return ok();
}

Status File::sync() const {
  if (::fdatasync(descriptor()) != 0) return system_error("cannot make " + path_ + " durable");
  return ok();
}

}  // namespace trainyard
