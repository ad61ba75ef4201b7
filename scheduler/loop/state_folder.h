// The server's folder: everything it knows lies there, and one server has it at a time.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "schemas/files/file.h"

namespace trainyard::scheduler {

class StateFolder {
 public:
  // Makes the folder where there is none. `conflict` while another server has it.
  static Result<StateFolder> take(const std::string& path);

  [[nodiscard]] std::string database() const { return path_ + "/trainyard.db"; }
  [[nodiscard]] std::string artifacts() const { return path_ + "/artifacts"; }
  [[nodiscard]] std::string logs() const { return path_ + "/logs"; }

 private:
  StateFolder(std::string path, File lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  File lock_;  // held while it is open
};

}  // namespace trainyard::scheduler
