// Files of series: their numbers and labels.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/labels.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct SeriesTable {
  std::vector<std::int64_t> offsets{0};  // [rows + 1]: where each row's numbers begin
  std::vector<float> values;             // row by row, whole time steps
  std::vector<LabelCell> labels;
};

// The formats are in sequences.h.
Result<SeriesTable> read_series(const DatasetSpec& spec);

}  // namespace trainyard::runtime
