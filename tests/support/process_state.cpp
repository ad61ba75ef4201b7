#include "tests/support/process_state.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_folder.h"

namespace trainyard {
namespace {

std::string about(pid_t pid, const std::string& what) {
  return "/proc/" + std::to_string(pid) + "/" + what;
}

}  // namespace

bool is_alive(pid_t pid) {
  const std::string stat = content_of(about(pid, "stat"));
  const std::size_t after_name = stat.rfind(')');  // which may hold anything, a ')' too
  return after_name != std::string::npos && stat.substr(after_name + 2, 1) != "Z";
}

long status_number(pid_t pid, const std::string& name) {
  std::ifstream status(about(pid, "status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return 0;
}

long open_descriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<long>(std::distance(files, {}));
}

}  // namespace trainyard
