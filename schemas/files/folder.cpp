#include "schemas/files/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "schemas/files/file.h"

namespace trainyard {

namespace fs = std::filesystem;
namespace {

// Can be mended, so `unavailable` whatever it is.
Error folder_error(const std::string& what, const std::error_code& error) {
  errno = error.value();
  return unavailable(system_error(what).message);
}

}  // namespace

Status make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return folder_error("cannot make the folder " + path, error);
  return ok();
}

Status keep_others_out(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? ok() : Status(system_error("cannot look at " + path));
  }
  const mode_t owners = status.st_mode & 0700U;
  if (owners == (status.st_mode & 0777U) || ::chmod(path.c_str(), owners) == 0) return ok();
  return system_error("cannot keep other users out of " + path);
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
