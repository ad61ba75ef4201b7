#include "agent/process/lease_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "schemas/files/file.h"

namespace trainyard::agent {

// As it lies in the file. Agents and shims of different versions share it: its form is for ever.
struct LeaseFile::Content {
  std::atomic<std::int64_t> end_millis;
  std::atomic<std::int64_t> stop_after_millis;
};

namespace {

constexpr std::size_t size = 16;
constexpr std::int64_t stop_after_max = std::int64_t{24} * 3600 * 1000;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

Result<void*> map(const File& file, int protection) {
  TRY_ASSIGN(const std::int64_t bytes, file.size());
  if (std::cmp_less(bytes, size)) return invalid(file.path() + " holds no lease");
  void* const place = ::mmap(nullptr, size, protection, MAP_SHARED, file.descriptor(), 0);
  if (place == MAP_FAILED) return system_error("cannot map " + file.path());
  return place;
}

}  // namespace

Result<LeaseFile> LeaseFile::open(const std::string& path) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDWR | O_CREAT, 0600));
  // With its place on the disk: a write into a hole would end the agent where there is no room.
  if (const int error = ::posix_fallocate(file.descriptor(), 0, size); error != 0) {
    errno = error;
    return system_error("cannot make " + path);
  }
  TRY_ASSIGN(void* const place, map(file, PROT_READ | PROT_WRITE));
  return LeaseFile(static_cast<Content*>(place));
}

Result<LeaseFile> LeaseFile::read_only(const std::string& path) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDONLY));
  TRY_ASSIGN(void* const place, map(file, PROT_READ));
  return LeaseFile(static_cast<Content*>(place));
}

LeaseFile::LeaseFile(LeaseFile&& other) noexcept
    : content_(std::exchange(other.content_, nullptr)) {}

LeaseFile& LeaseFile::operator=(LeaseFile&& other) noexcept {
  std::swap(content_, other.content_);
  return *this;
}

LeaseFile::~LeaseFile() {
  if (content_ != nullptr) ::munmap(content_, size);
}

void LeaseFile::write(Time end, Millis stop_after) {
  content_->stop_after_millis = stop_after.count;
  content_->end_millis = end.millis;
}

Time LeaseFile::end() const { return {content_->end_millis.load()}; }

Millis LeaseFile::stop_after() const {
  return {std::clamp<std::int64_t>(content_->stop_after_millis, 1, stop_after_max)};
}

}  // namespace trainyard::agent
