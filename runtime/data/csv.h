// CSV files: one example a line, numeric features, one label column.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is the file. The first line is a header where spec.label_column is a name in it, or
// where none of its cells is a number. Of another first line all cells but the label's must be
// numbers: one that is bad ("1,nan,x") is an error, or the row would be taken for a header and
// lost. All columns but the label's are features and are used as they are: nothing is scaled.
//
// What the labels are is read from them:
//   whole numbers that together are all of 0 .. k-1, k of 2 or more: k classes
//   all of them 0: an error, as it is one class only
//   any other numbers (also 3.0): real targets
//   names: classes, sorted by their bytes
// The test split is a share of spec.test_fraction of the rows, drawn by `seed`; both splits keep
// the file's order.
Result<std::unique_ptr<Dataset>> open_csv(const DatasetSpec& spec, std::uint64_t seed,
                                          const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
