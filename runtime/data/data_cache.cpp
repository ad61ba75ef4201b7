#include "runtime/data/data_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "runtime/core/fnv_hash.h"
#include "runtime/data/cache_file.h"
#include "runtime/data/data_file.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/log.h"
#include "schemas/files/sha256.h"

namespace trainyard::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".data";
constexpr std::string_view aside_ending = ".data.aside";
// Times of files are coarse: one that is written twice within a tick looks the same. Two seconds
// is the coarsest that a file system has.
constexpr std::int64_t settled_after_seconds = 3;

Error failed(const std::string& what) { return unavailable(what + ": " + std::strerror(errno)); }

// A cache is not durable: after a crash of the host a file may be there whose content is not.
std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// The key of a folder of images would be longer than its file, and a reader may be told of
// thousands of columns.
constexpr std::size_t key_part_max = 16 * 1024;

std::string bounded(const std::string& text) {
  return text.size() > key_part_max ? sha256_hex(text) : text;
}

// "" where the data cannot be told from what it may become.
std::string key_of(const DataCache::Source& source) {
  std::string files;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  for (const std::string& path : source.files) {
    struct stat found {};
    const auto file = open_data_file("dataset.path", path);  // only where it may be read
    if (!file.has_value() || ::fstat(file->get(), &found) != 0) return {};
    if (now.tv_sec - found.st_mtim.tv_sec < settled_after_seconds) return {};
    files += "\ndevice " + std::to_string(found.st_dev) + " inode " + std::to_string(found.st_ino) +
             " bytes " + std::to_string(found.st_size) + " time " +
             std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) +
             // which nobody sets by hand
             " change " + std::to_string(found.st_ctim.tv_sec) + "." +
             std::to_string(found.st_ctim.tv_nsec) + " " + path;
  }
  if (files.size() > key_part_max) {
    files = "\n" + std::to_string(source.files.size()) + " files " + sha256_hex(files);
  }
  return bounded(source.reader) + "\nboot " + boot() + files;
}

// A range of the folder's lock file, for as long as this lives. The kernel gives it back when its
// process ends.
class RangeLock {
 public:
  static Result<RangeLock> take(const std::string& folder, std::int64_t place) {
    Descriptor file(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return failed("cannot open " + folder + "/lock");
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = place;
    range.l_len = 1;
    while (::fcntl(file.get(), F_OFD_SETLKW, &range) != 0) {
      if (errno != EINTR) return failed("cannot lock " + folder + "/lock");
    }
    return RangeLock(std::move(file));
  }

 private:
  explicit RangeLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

constexpr std::int64_t place_of_folder = 0;
std::int64_t place_of(const std::string& key) {
  return 1 + static_cast<std::int64_t>(fnv_hash(key) >> 2);
}

struct KeptFile {
  std::string path;
  std::int64_t bytes = 0;
  fs::file_time_type used;
};

// Files alone. A link is nobody's of ours: where its name is one of ours it is removed, or a file
// could never be written there.
std::vector<KeptFile> kept_files(const std::string& folder) {
  std::vector<KeptFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->is_symlink(gone)) {
      const std::string path = entry->path().string();
      if (path.ends_with(ending) || path.ends_with(aside_ending)) fs::remove(path, gone);
      continue;
    }
    const auto bytes = static_cast<std::int64_t>(entry->file_size(gone));
    const auto used = entry->last_write_time(gone);
    if (!gone) files.push_back({entry->path().string(), bytes, used});
  }
  return files;
}

bool is_in_use(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

std::string DataCache::path_of(const std::string& key) const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name;
  for (std::uint64_t hash = fnv_hash(key), i = 0; i < 16; ++i, hash >>= 4) {
    name += digits[hash & 15];
  }
  return spec_.folder + "/" + name.append(ending);
}

std::optional<DecodedData> DataCache::find(const std::string& key, const IsSound& is_sound) const {
  auto found = map_cache_file(path_of(key), key);
  if (found.has_value() && !is_sound(*found)) found = invalid(path_of(key) + " is damaged");
  if (found.has_value()) return std::move(found).value();
  if (found.error().code != Code::not_found) {
    log_warning("data cache", {{"message", found.error().message}});
  }
  return std::nullopt;
}

Result<DecodedData> DataCache::get(const Source& source, const Decode& decode,
                                   const IsSound& is_sound) const {
  const std::string key = spec_.folder.empty() ? "" : key_of(source);
  if (key.empty()) return decode();
  if (auto kept = find(key, is_sound)) return *std::move(kept);

  std::error_code error;
  fs::create_directories(spec_.folder, error);
  const auto lock = RangeLock::take(spec_.folder, place_of(key));
  if (!lock.has_value()) {
    log_warning("data cache", {{"message", lock.error().message}});
    return decode();
  }
  if (auto kept = find(key, is_sound)) return *std::move(kept);  // made by another meanwhile
  TRY_ASSIGN(DecodedData data, decode());
  if (key_of(source) != key) return data;  // it changed while it was read
  if (const Status kept = keep(key, data); !kept.has_value()) {
    log_warning("data cache", {{"message", kept.error().message}});
    return data;
  }
  if (auto kept = find(key, is_sound)) return *std::move(kept);
  return data;
}

Status DataCache::keep(const std::string& key, const DecodedData& data) const {
  TRY_ASSIGN(const RangeLock lock, RangeLock::take(spec_.folder, place_of_folder));
  TRY(make_room(cache_file_bytes(key, data)));
  const std::string path = path_of(key);
  const std::string aside = path.substr(0, path.size() - ending.size()).append(aside_ending);
  Status written = write_cache_file(aside, key, data);
  std::error_code error;
  if (written.has_value()) {
    fs::rename(aside, path, error);
    if (!error) return ok();
    written = unavailable("cannot rename " + aside + ": " + error.message());
  }
  fs::remove(aside, error);
  return written;
}

// Under the folder's lock: what is being written aside by nobody is left over from one who died.
Status DataCache::make_room(std::int64_t bytes) const {
  std::vector<KeptFile> files;
  std::int64_t sum = bytes;
  std::error_code error;
  for (KeptFile& file : kept_files(spec_.folder)) {
    if (file.path.ends_with(aside_ending)) fs::remove(file.path, error);
    if (!file.path.ends_with(ending)) continue;
    sum += file.bytes;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &KeptFile::used);
  for (const KeptFile& file : files) {
    if (sum <= spec_.bytes_max || bytes > spec_.bytes_max) break;
    if (is_in_use(file.path)) continue;
    if (fs::remove(file.path, error)) sum -= file.bytes;
  }
  const fs::space_info disk = fs::space(spec_.folder, error);
  if (!error && static_cast<std::uintmax_t>(2 * bytes) > disk.available) {
    return unavailable("a decoded data set of " + std::to_string(bytes) +
                       " bytes is not kept: " + spec_.folder + " has " +
                       std::to_string(disk.available) + " left, which checkpoints need");
  }
  if (sum <= spec_.bytes_max) return ok();
  return unavailable("a decoded data set of " + std::to_string(bytes) + " bytes is not kept: " +
                     "the cache holds at most " + std::to_string(spec_.bytes_max) +
                     ", and what else is there is in use (--data-cache-mb of the agent)");
}

}  // namespace trainyard::runtime
