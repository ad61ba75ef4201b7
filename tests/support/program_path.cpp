#include "tests/support/program_path.h"

#include <cstdlib>
#include <filesystem>

namespace trainyard {

std::string program_path(const std::string& name) {
  if (name.starts_with('/')) return name;
  if (const char* const folder = std::getenv("TRAINYARD_BIN")) {
    return std::string(folder) + "/" + name;
  }
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return (self.parent_path().parent_path() / "bin" / name).string();
}

}  // namespace trainyard
