// Who waits here is told when files that others write to have changed (inotify), so that nobody has
// to look again and again.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "schemas/base/descriptor.h"

namespace trainyard::agent {

class FileWatch {
 public:
  FileWatch();

  // A number for the file, which exists; -1 where the system watches no more of them. Thread-safe.
  int add(const std::string& path);
  void remove(int watch);

  // Ends a wait, or the next one. Thread-safe.
  void wake();
  // Until a file was written to, wake() or the time is over: the watches of what was written to. Of
  // one thread.
  std::vector<int> wait(std::chrono::milliseconds at_most);

 private:
  Descriptor changes_;
  Descriptor bell_;
};

}  // namespace trainyard::agent
