// Data files, opened where the operator of the host lets jobs read (schemas/types/data_roots.h).
#pragma once

#include <string>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// A regular file that is stored: none of /proc or /sys. What is looked at is the file that has been
// opened, so that nobody can exchange it for a link in between. `field` is the spec's:
// "dataset.path".
Result<Descriptor> open_data_file(const std::string& field, const std::string& path);

// A folder, with the same rule about where it may be.
Result<Descriptor> open_data_folder(const std::string& field, const std::string& path);

// `invalid` of what a file of the data set has in it: "dataset: PATH: what".
Error bad_data(const std::string& path, const std::string& what);

// A path of the file that is open, for readers that want one; good as long as it is.
std::string path_of(const Descriptor& file);

}  // namespace trainyard::runtime
