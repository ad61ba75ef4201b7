#include "runtime/data/cache_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "runtime/core/fnv_hash.h"
#include "schemas/base/check.h"
#include "schemas/base/descriptor.h"

namespace trainyard::runtime {
namespace {

constexpr std::array<char, 16> magic{"trainyard data2"};
constexpr std::uint64_t alignment = 64;
constexpr std::size_t numbers_max = 12;
constexpr std::size_t arrays_max = 8;
constexpr std::uint64_t key_bytes_max = 64 * 1024;

struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct Head {
  std::array<char, 16> magic{};
  std::uint64_t file_bytes = 0;
  std::uint64_t key_bytes = 0;  // the key follows the head
  std::uint64_t number_count = 0;
  std::uint64_t array_count = 0;
  std::array<std::int64_t, numbers_max> numbers{};
  std::array<Piece, arrays_max> arrays{};
  std::uint64_t checksum = 0;  // of all before it and of the key
};
static_assert(std::is_trivially_copyable_v<Head> && std::has_unique_object_representations_v<Head>);

std::uint64_t checksum_of(const Head& head, std::string_view key) {
  std::string bytes(reinterpret_cast<const char*>(&head), offsetof(Head, checksum));
  return fnv_hash(bytes.append(key));
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

Head head_of(const std::string& key, const DecodedData& data) {
  ENSURE(data.numbers.size() <= numbers_max && data.arrays.size() <= arrays_max);
  Head head{.magic = magic,
            .key_bytes = key.size(),
            .number_count = data.numbers.size(),
            .array_count = data.arrays.size()};
  std::ranges::copy(data.numbers, head.numbers.begin());
  std::uint64_t end = sizeof(Head) + key.size();
  for (std::size_t i = 0; i < data.arrays.size(); ++i) {
    head.arrays[i] = {.offset = aligned(end), .bytes = data.arrays[i].size()};
    end = head.arrays[i].offset + head.arrays[i].bytes;
  }
  head.file_bytes = end;
  head.checksum = checksum_of(head, key);
  return head;
}

Error failed(const std::string& what, const std::string& path) {
  const std::string message = what + " " + path + ": " + std::strerror(errno);
  return errno == ENOENT ? not_found(message) : unavailable(message);
}

Error damaged(const std::string& path, const std::string& what) {
  return invalid(path + " " + what);
}

Status write_whole(int file, const void* bytes, std::size_t size, const std::string& path) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("cannot write", path);
    from += written;
    size -= static_cast<std::size_t>(written);
  }
  return ok();
}

class Mapping {
 public:
  Mapping(Descriptor file, void* begin, std::size_t size)
      : file_(std::move(file)), begin_(begin), size_(size) {}
  ~Mapping() { ::munmap(begin_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] const std::byte* begin() const { return static_cast<const std::byte*>(begin_); }

 private:
  const Descriptor file_;  // its lock says that it is in use
  void* const begin_;
  const std::size_t size_;
};

// The head, once all that it says is known to be so.
Result<Head> read_head(int file, std::uint64_t file_bytes, const std::string& key,
                       const std::string& path) {
  Head head;
  if (::pread(file, &head, sizeof head, 0) != ssize_t{sizeof head}) {
    return damaged(path, "is cut short");
  }
  if (head.magic != magic) return damaged(path, "is no decoded data set of this version");
  if (head.file_bytes != file_bytes) return damaged(path, "is not as long as it says");
  if (head.key_bytes > key_bytes_max || head.number_count > numbers_max ||
      head.array_count > arrays_max) {
    return damaged(path, "has a damaged head");
  }
  std::string found(head.key_bytes, '\0');
  if (::pread(file, found.data(), found.size(), sizeof head) !=
      static_cast<ssize_t>(found.size())) {
    return damaged(path, "is cut short");
  }
  if (head.checksum != checksum_of(head, found)) return damaged(path, "has a damaged head");
  if (found != key) return damaged(path, "is of other data");
  for (const Piece& piece : head.arrays) {
    if (piece.offset % alignment != 0 || piece.offset > file_bytes ||
        piece.bytes > file_bytes - piece.offset) {
      return damaged(path, "has a damaged head");
    }
  }
  return head;
}

}  // namespace

std::int64_t cache_file_bytes(const std::string& key, const DecodedData& data) {
  return static_cast<std::int64_t>(head_of(key, data).file_bytes);
}

Status write_cache_file(const std::string& path, const std::string& key, const DecodedData& data) {
  if (key.size() > key_bytes_max) return invalid("a key of a decoded data set is too long");
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return failed("cannot make", path);
  const Head head = head_of(key, data);
  TRY(write_whole(file.get(), &head, sizeof head, path));
  TRY(write_whole(file.get(), key.data(), key.size(), path));
  std::uint64_t end = sizeof head + key.size();
  for (std::size_t i = 0; i < data.arrays.size(); ++i) {
    const std::string padding(head.arrays[i].offset - end, '\0');
    TRY(write_whole(file.get(), padding.data(), padding.size(), path));
    TRY(write_whole(file.get(), data.arrays[i].data(), data.arrays[i].size(), path));
    end = head.arrays[i].offset + head.arrays[i].bytes;
  }
  return ok();
}

Result<DecodedData> map_cache_file(const std::string& path, const std::string& key) {
  // Whatever lies there, it is not waited for.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file) return failed("cannot open", path);
  // Whoever is about to remove it has it for a moment: what is removed then can be used all the
  // same.
  while (::flock(file.get(), LOCK_SH) != 0) {
    if (errno != EINTR) return failed("cannot lock", path);
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return failed("cannot look at", path);
  if (!S_ISREG(found.st_mode) || found.st_size < ssize_t{sizeof(Head)}) {
    return damaged(path, "is cut short");
  }
  const auto size = static_cast<std::size_t>(found.st_size);
  TRY_ASSIGN(const Head head, read_head(file.get(), size, key, path));
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) return failed("cannot map", path);
  ::futimens(file.get(), nullptr);  // used now; where that is refused it goes a little sooner
  const auto mapping = std::make_shared<const Mapping>(std::move(file), begin, size);
  DecodedData data{
      .numbers = {head.numbers.begin(),
                  head.numbers.begin() + static_cast<std::ptrdiff_t>(head.number_count)},
      .arrays = {},
      .owner = mapping};
  for (std::size_t i = 0; i < head.array_count; ++i) {
    data.arrays.emplace_back(mapping->begin() + head.arrays[i].offset, head.arrays[i].bytes);
  }
  return data;
}

}  // namespace trainyard::runtime
