// Files that the server makes of others on first use and keeps, each beside the sha256 that it had
// when it was made: a disk may change what was durable, and what is made once can be made again.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard::scheduler {

inline constexpr std::string_view sum_suffix = ".sha256";  // of the file beside a made one

struct MadeFile {
  std::string path;
  std::string sha256;
};

// Safe from several threads; one file is made or compared at a time.
class MadeFiles {
 public:
  // Leaves a whole file at the path, or none.
  using Make = std::function<Status(const std::string& path)>;

  // The file at `path`: made where there is none, or another than was made; compared when it is
  // first asked for, and when it was touched since.
  Result<MadeFile> get(const std::string& path, const Make& make);

 private:
  // What changes with each write to a file.
  struct Identity {
    ino_t number = 0;
    off_t bytes = 0;
    timespec written{};
    bool operator==(const Identity& other) const;
  };
  struct Known {
    Identity identity;
    std::string sha256;
  };

  static Result<Identity> identity_of(const std::string& path);
  Result<MadeFile> remember(const std::string& path, const Identity& identity, std::string sha256);

  static constexpr std::size_t known_max = 1024;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by path: what was found sound
};

}  // namespace trainyard::scheduler
