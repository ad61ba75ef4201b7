#include "scheduler/store/made_files.h"

#include <fcntl.h>

#include <string_view>
#include <utility>

#include "schemas/base/log.h"
#include "schemas/files/file.h"
#include "schemas/files/sha256.h"
#include "schemas/files/whole_file.h"

namespace trainyard::scheduler {
namespace {

std::string sum_path(const std::string& path) { return path + std::string(sum_suffix); }

// Whether the file has the sha256 that lies beside it.
Result<bool> is_what_was_made(const std::string& path, const std::string& sha256) {
  const auto file = File::open_regular(sum_path(path), O_RDONLY);
  if (!file && file.error().code == Code::not_found) return false;
  if (!file) return file.error();
  std::string sum(sha256.size() + 1, '\0');
  TRY_ASSIGN(const std::size_t count, file->read_at(0, sum));
  return std::string_view(sum).substr(0, count) == sha256;
}

}  // namespace

bool MadeFiles::Identity::operator==(const Identity& other) const {
  return number == other.number && bytes == other.bytes && written.tv_sec == other.written.tv_sec &&
         written.tv_nsec == other.written.tv_nsec;
}

Result<MadeFiles::Identity> MadeFiles::identity_of(const std::string& path) {
  TRY_ASSIGN(const File file, File::open_regular(path, O_RDONLY));
  struct stat found {};
  if (::fstat(file.descriptor(), &found) != 0) return system_error("cannot look at " + path);
  return Identity{.number = found.st_ino, .bytes = found.st_size, .written = found.st_mtim};
}

Result<MadeFile> MadeFiles::remember(const std::string& path, const Identity& identity,
                                     std::string sha256) {
  if (known_.size() >= known_max) known_.clear();
  known_.insert_or_assign(path, Known{.identity = identity, .sha256 = sha256});
  return MadeFile{.path = path, .sha256 = std::move(sha256)};
}

Result<MadeFile> MadeFiles::get(const std::string& path, const Make& make) {
  const std::lock_guard lock(mutex_);
  const auto identity = identity_of(path);
  if (!identity && identity.error().code != Code::not_found) return identity.error();
  if (identity) {
    const auto known = known_.find(path);
    if (known != known_.end() && known->second.identity == *identity) {
      return MadeFile{.path = path, .sha256 = known->second.sha256};
    }
    TRY_ASSIGN(std::string sha256, sha256_of_file(path));
    TRY_ASSIGN(const bool is_sound, is_what_was_made(path, sha256));
    if (is_sound) return remember(path, *identity, std::move(sha256));
    log_warning("file_made_again", {{"path", path}, {"why", "it is not what was made"}});
  }
  TRY(make(path));
  TRY_ASSIGN(const Identity made, identity_of(path));
  TRY_ASSIGN(std::string sha256, sha256_of_file(path));
  TRY(write_file_durably(sum_path(path), sha256));
  return remember(path, made, std::move(sha256));
}

}  // namespace trainyard::scheduler
