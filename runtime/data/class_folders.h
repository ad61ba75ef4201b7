// The two splits of a data set that is a folder for each class.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/folder_listing.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct ClassFolders {
  std::vector<std::string> classes;
  std::array<std::vector<ListedFile>, 2> splits;  // by split
};

// Of spec.path with train/<class>/<file> and test/<class>/<file>, or where it has no folder train,
// with <class>/<file>, of which a share is drawn by `seed` for the test. So many of each split as
// the spec says are drawn, too. `invalid` of fewer than two classes, or a class of test/ that is
// not in train/.
Result<ClassFolders> list_class_folders(const DatasetSpec& spec, std::uint64_t seed,
                                        const WantedFiles& wanted);

}  // namespace trainyard::runtime
