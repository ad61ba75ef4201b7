#include "scheduler/loop/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include "schemas/files/folder.h"

namespace trainyard::scheduler {

Result<StateFolder> StateFolder::take(const std::string& path) {
  if (path.empty()) return invalid("the state folder must be named");
  TRY(make_folders(path));
  TRY_ASSIGN(File lock, File::open(path + "/lock", O_RDWR | O_CREAT));
  if (::flock(lock.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return conflict("the state folder " + path + " is in use by another server");
  }
  StateFolder folder(path, std::move(lock));
  TRY(make_folders(folder.artifacts()));
  TRY(make_folders(folder.logs()));
  return folder;
}

}  // namespace trainyard::scheduler
