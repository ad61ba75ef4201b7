// In which order the system is asked: a file is whole on the disk before its name is there, and its
// name before anyone is told. This program's own fsync(), fdatasync() and rename() take note.
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/store/artifacts.h"
#include "tests/scheduler/store/fixtures.h"

namespace {

struct Notes {
  std::mutex mutex;
  bool taken = false;              // guarded by mutex
  std::vector<std::string> calls;  // guarded by mutex

  void add(const std::string& call) {
    const std::lock_guard lock(mutex);
    if (taken) calls.push_back(call);
  }
};

Notes& notes() {
  static Notes all;
  return all;
}

std::string name_of(int descriptor) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
}

}  // namespace

extern "C" int fdatasync(int descriptor) {
  notes().add("sync " + name_of(descriptor));
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

extern "C" int fsync(int descriptor) {
  notes().add("sync " + name_of(descriptor));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  notes().add(std::string("rename ") + from + " " + to);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

using namespace trainyard;
using namespace trainyard::scheduler;

TEST_CASE(
    "an artifact is durable before it has its name, and its name before it is complete "
    "[mend-C]",
    "[artifacts]") {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path("artifacts"));
  const std::string root = std::filesystem::canonical(folder.path("artifacts"));
  Artifacts artifacts(root);
  const std::string content = "content";
  const ArtifactFile file{"f", std::ssize(content), sha256_hex(content)};
  ArtifactUpload upload = value_of(artifacts.resume(JobId{"j-1"}, file, 0));
  value_of(upload.append(content));
  {
    const std::lock_guard lock(notes().mutex);
    notes().taken = true;
  }

  value_of(upload.finish());

  const std::lock_guard lock(notes().mutex);
  notes().taken = false;
  const std::string path = root + "/j-1/" + file.sha256;
  CHECK(notes().calls == std::vector<std::string>{"sync " + path + ".part",
                                                  "rename " + path + ".part " + path,
                                                  "sync " + root + "/j-1"});
}
