// The lease of a host's tasks, where their shims read it: the agent writes it, and whoever it
// leaves behind ends with it. Two numbers at a place of the disk that is taken once: a full one
// ends no task.
#pragma once

#include <optional>
#include <string>

#include "schemas/base/result.h"
#include "schemas/base/time.h"
#include "schemas/files/file.h"

namespace trainyard::agent {

class LeaseFile {
 public:
  // Made where it is not there, or is no file, as one that is over.
  static Result<LeaseFile> open(const std::string& path);
  static Result<LeaseFile> read_only(const std::string& path);  // for a shim

  // Times are of the host's steady clock, which all its processes share.
  [[nodiscard]] Status write(Time end, Millis stop_after);
  // Every task ends within a second or so.
  void end_now() { static_cast<void>(write(Time{0}, Millis{1})); }

  struct Content {
    Time end;
    Millis stop_after;  // from 1 ms to a day, whatever is in the file
  };
  // Nothing where it cannot be read, or somebody has cut it.
  [[nodiscard]] std::optional<Content> read() const;

 private:
  explicit LeaseFile(File file) : file_(std::move(file)) {}

  File file_;
  std::optional<Content> written_;
};

}  // namespace trainyard::agent
