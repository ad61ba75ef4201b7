#include "scheduler/store/made_files.h"

#include <fcntl.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "schemas/base/log.h"
#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"

namespace trainyard::scheduler {
namespace {

namespace fs = std::filesystem;

std::string sha256_path(const std::string& path) { return path + std::string(sha256_suffix); }

// Empty where there is none, or it cannot be read.
std::string sha256_beside(const std::string& path) {
  const auto file = File::open_regular(sha256_path(path), O_RDONLY);
  if (!file) return {};
  std::string text(65, '\0');  // one more than it has
  const auto count = file->read_at(0, text);
  return count ? text.substr(0, *count) : std::string();
}

}  // namespace

bool MadeFiles::Identity::operator==(const Identity& other) const {
  return device == other.device && number == other.number && bytes == other.bytes &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

Result<MadeFiles::Identity> MadeFiles::identity_of(const File& file) {
  struct stat found {};
  if (::fstat(file.descriptor(), &found) != 0) return system_error("cannot look at " + file.path());
  return Identity{.device = found.st_dev,
                  .number = found.st_ino,
                  .bytes = found.st_size,
                  .changed = found.st_ctim};
}

MadeFile MadeFiles::remember(const std::string& path, const Identity& identity,
                             const std::string& sha256) {
  if (known_.size() >= known_max) known_.clear();
  known_.insert_or_assign(path, Known{.identity = identity, .sha256 = sha256});
  return {.path = path, .sha256 = sha256};
}

Result<std::optional<MadeFile>> MadeFiles::find(const std::string& path, Compare compare) {
  const auto file = File::open_regular(path, O_RDONLY);
  if (!file && file.error().code == Code::not_found) return std::optional<MadeFile>();
  if (!file) return file.error();
  TRY_ASSIGN(const Identity identity, identity_of(*file));
  const auto known = known_.find(path);
  if (compare == Compare::once && known != known_.end() && known->second.identity == identity) {
    return std::optional(MadeFile{.path = path, .sha256 = known->second.sha256});
  }
  // Of a disk that cannot read it nothing else is to be had than a file that is made again.
  const auto sha256 = sha256_of_file(*file);
  const std::string beside = sha256_beside(path);
  if (sha256 && *sha256 == beside) return std::optional(remember(path, identity, *sha256));
  log_warning("made_file_removed",
              {{"path", path},
               {"why", !sha256          ? sha256.error().message
                       : beside.empty() ? "it has no sha256 beside it"
                                        : "it has another content than when it was made"}});
  known_.erase(path);
  std::error_code error;  // what stays is found unsound again
  fs::remove(sha256_path(path), error);
  if (!fs::remove(path, error) && error) {
    return unavailable("cannot remove " + path + ", which is damaged: " + error.message());
  }
  return std::optional<MadeFile>();
}

Result<MadeFile> MadeFiles::keep(const std::string& path) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDONLY));
  TRY_ASSIGN(const Identity identity, identity_of(file));
  TRY_ASSIGN(const std::string sha256, sha256_of_file(file));
  TRY(write_file_durably(sha256_path(path), sha256));
  return remember(path, identity, sha256);
}

}  // namespace trainyard::scheduler
