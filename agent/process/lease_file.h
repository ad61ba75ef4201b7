// The lease of a host's tasks, where their shims read it: the agent writes it, and whoever it
// leaves behind ends with it. Two numbers in a mapped file: to write them takes no room on the
// disk, and a full one ends no task.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::agent {

class LeaseFile {
 public:
  // Made where it is not there, as one that is over.
  static Result<LeaseFile> open(const std::string& path);
  static Result<LeaseFile> read_only(const std::string& path);  // for a shim
  LeaseFile(LeaseFile&& other) noexcept;
  LeaseFile& operator=(LeaseFile&& other) noexcept;
  ~LeaseFile();

  // Times are of the host's steady clock, which all its processes share.
  void write(Time end, Millis stop_after);
  // Every task ends within a second or so.
  void end_now() { write(Time{0}, Millis{1}); }

  [[nodiscard]] Time end() const;
  // From 1 ms to a day, whatever is in the file.
  [[nodiscard]] Millis stop_after() const;

 private:
  struct Content;
  explicit LeaseFile(Content* content) : content_(content) {}

  Content* content_ = nullptr;
};

}  // namespace trainyard::agent
