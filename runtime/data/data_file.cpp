#include "runtime/data/data_file.h"

#include <fcntl.h>
#include <sys/stat.h>

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

}  // namespace

Result<Descriptor> open_data_file(const std::string& field, const std::string& path) {
  Descriptor file(::open(path.c_str(), flags));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    return not_found(field + ": there is no file " + path);
  }
  if (!file) {
    return invalid(field + ": cannot open " + path + ": " + std::generic_category().message(errno));
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return not_found(field + ": there is no file " + path);
  }
  const std::vector<std::string> roots = data_roots();
  if (roots.empty()) return file;
  std::error_code error;
  const auto real = std::filesystem::read_symlink(path_of(file), error);
  if (!error && is_below_data_root(real.string(), roots)) return file;
  return invalid(outside_data_roots(field, path, roots));
}

std::string path_of(const Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

}  // namespace trainyard::runtime
