// What a database says of the state folder that it lies in. Looked at before it is opened for work:
// a database that belongs elsewhere must not be made, migrated or swept by.
#pragma once

#include <span>
#include <string>

#include "schemas/base/result.h"

namespace trainyard::scheduler {

struct Belonging {
  bool exists = false;       // there is a database at all
  std::string folder_id;     // of the state folder that it is of; "" = it does not say
  bool knows_a_job = false;  // one of those asked for
};

// `jobs` are names of folders, perhaps of jobs.
Result<Belonging> look_at_database(const std::string& path, std::span<const std::string> jobs);

}  // namespace trainyard::scheduler
