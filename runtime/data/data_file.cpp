#include "runtime/data/data_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "schemas/types/data_roots.h"

namespace trainyard::runtime {
namespace {

std::vector<std::string> data_roots() {
  const char* const joined = std::getenv(data_roots_variable);
  return split_data_roots(joined == nullptr ? "" : joined);
}

// Nobody waits at a pipe for a writer.
constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// Their files look regular and have no size; a read of some (/proc/kmsg) waits for ever.
constexpr std::array kernel_file_systems{PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC,
                                         TRACEFS_MAGIC};

// "" of a regular file on a disk or in memory.
std::string why_no_data(const Descriptor& file) {
  struct stat found {};
  struct statfs system {};
  if (::fstat(file.get(), &found) != 0 || ::fstatfs(file.get(), &system) != 0) {
    return "cannot be looked at: " + std::generic_category().message(errno);
  }
  if (S_ISDIR(found.st_mode)) return "is a folder, where a file is needed";
  if (S_ISFIFO(found.st_mode)) return "is a pipe, where a file is needed";
  if (!S_ISREG(found.st_mode)) return "is a device, where a file is needed";
  const auto is_of = [&system](auto magic) { return system.f_type == magic; };
  if (std::ranges::none_of(kernel_file_systems, is_of)) return "";
  return "is not stored, the kernel makes it up (proc, sys): it cannot be data";
}

// That the operator lets jobs read there, by where what is open is in truth.
Status check_root(const Descriptor& opened, const std::string& field, const std::string& path) {
  const std::vector<std::string> roots = data_roots();
  if (roots.empty()) return ok();
  std::error_code error;
  const auto real = std::filesystem::read_symlink(path_of(opened), error);
  if (!error && is_below_data_root(real.string(), roots)) return ok();
  return invalid(outside_data_roots(field, path, roots));  // and no word of what it is
}

}  // namespace

Result<Descriptor> open_data_file(const std::string& field, const std::string& path) {
  Descriptor file(::open(path.c_str(), flags));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    return not_found(field + ": there is no file " + path);
  }
  if (!file) {
    return invalid(field + ": cannot open " + path + ": " + std::generic_category().message(errno));
  }
  TRY(check_root(file, field, path));
  const std::string obstacle = why_no_data(file);
  if (!obstacle.empty()) return invalid(field + ": " + path + " " + obstacle);
  return file;
}

Result<Descriptor> open_data_folder(const std::string& field, const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!folder && (errno == ENOENT || errno == ENOTDIR)) {
    return not_found(field + ": there is no folder " + path);
  }
  if (!folder) {
    return invalid(field + ": cannot open " + path + ": " + std::generic_category().message(errno));
  }
  TRY(check_root(folder, field, path));
  return folder;
}

Error bad_data(const std::string& path, const std::string& what) {
  return invalid("dataset: " + path + ": " + what);
}

std::string path_of(const Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

}  // namespace trainyard::runtime
