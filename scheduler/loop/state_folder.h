// The server's folder: everything it knows lies there, and one server has it at a time. It carries
// an id that its database has too: beside another database its files would be nobody's.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "schemas/files/file.h"

namespace trainyard::scheduler {

// What to do with a database that is not the folder's: refuse it, or have the two belong together
// from now on.
enum class ForeignDatabase { refused, adopted };

class StateFolder {
 public:
  // Makes the folder where there is none. `conflict` while another server has it.
  static Result<StateFolder> take(const std::string& path);

  // The id that the folder carries from now on and that its database is to be given. `conflict`,
  // and nothing is changed, where there are artifacts or logs and the database is another one, is
  // new or was emptied. One of before, which says no id, is the folder's if it knows one of its
  // jobs.
  Result<std::string> match_database(ForeignDatabase foreign);

  [[nodiscard]] std::string database() const { return path_ + "/trainyard.db"; }
  [[nodiscard]] std::string artifacts() const { return path_ + "/artifacts"; }
  [[nodiscard]] std::string logs() const { return path_ + "/logs"; }
  [[nodiscard]] std::string key_file() const { return path_ + "/token.key"; }
  [[nodiscard]] std::string id_file() const { return path_ + "/id"; }
  [[nodiscard]] std::string lost_and_found() const { return path_ + "/lost+found"; }

 private:
  StateFolder(std::string path, File lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  [[nodiscard]] Result<std::string> read_id() const;

  std::string path_;
  File lock_;  // held while it is open
};

}  // namespace trainyard::scheduler
