#include "schemas/files/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "schemas/files/file.h"

namespace trainyard {

namespace fs = std::filesystem;

Status make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return unavailable("cannot make the folder " + path + ": " + error.message());
  return ok();
}

Status sync_folder(const std::string& path) {
  TRY_ASSIGN(const File folder, File::open(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.descriptor()) != 0) {
    return system_error("cannot make the entries of " + path + " durable");
  }
  return ok();
}

Status move_into_place(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return system_error("cannot rename " + from + " to " + to);
  }
  const std::string folder = fs::path(to).parent_path().string();
  return sync_folder(folder.empty() ? "." : folder);
}

Status remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return unavailable("cannot remove " + path + ": " + error.message());
  return ok();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace trainyard
