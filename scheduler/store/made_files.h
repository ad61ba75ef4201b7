// Files that the server makes of others on first use and keeps, each beside the sha256 that it had
// when it was made: a disk may change what was durable, and what is made once can be made again.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/files/file.h"

namespace trainyard::scheduler {

inline constexpr std::string_view sha256_suffix = ".sha256";  // of the file beside a made one

struct MadeFile {
  std::string path;
  std::string sha256;
};

class MadeFiles {
 public:
  // When the content is compared: always, or where nobody has since the start of the server or the
  // last touch. A disk that changes it in between is not noticed then.
  enum class Compare { always, once };

  // The file, where it is still what was made. Else nothing, and nothing stays at `path`.
  Result<std::optional<MadeFile>> find(const std::string& path, Compare compare);
  // What has just been made at `path`.
  Result<MadeFile> keep(const std::string& path);

 private:
  // What changes with each write to a file.
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;
    off_t bytes = 0;
    timespec changed{};
    bool operator==(const Identity& other) const;
  };
  struct Known {
    Identity identity;
    std::string sha256;
  };

  static Result<Identity> identity_of(const File& file);
  MadeFile remember(const std::string& path, const Identity& identity, const std::string& sha256);

  static constexpr std::size_t known_max = 1024;
  std::map<std::string, Known> known_;  // by path: what was compared
};

}  // namespace trainyard::scheduler
