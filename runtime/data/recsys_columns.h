// Where the columns that a recsys data set names are in its file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct RecsysFileColumns {
  std::size_t count = 0;  // of a line; 0: no line was read
  std::vector<std::size_t> numeric;
  std::vector<std::size_t> ids;  // as distinct_id_columns() has them
  std::optional<std::size_t> label;
};

// Each column that a field of ids has, once, in the order in which the fields have them.
std::vector<std::string> distinct_id_columns(const RecsysSpec& recsys);

// By the first line. `invalid`, naming the field of the spec, where a column is not there or is two
// things at once.
Result<RecsysFileColumns> find_recsys_columns(const DatasetSpec& spec,
                                              const std::vector<std::string>& first);

}  // namespace trainyard::runtime
