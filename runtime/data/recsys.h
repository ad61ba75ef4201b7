// Categories and numbers from the columns of a CSV file: fields of ids and one of numbers, for
// recommenders.
//
// A line is an example. An id is a hash of a cell's bytes and its column, or the place of the cell
// in its column's vocabulary: the most frequent values of the whole file, those of equal counts in
// the order of their bytes, from 1 on; 0 is an empty cell, and any other value. Fields of several
// columns have their vocabularies one behind another. An empty number is 0. Labels are those of
// format csv: classes or real numbers.
#pragma once

#include <memory>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// `invalid` with the file and the line where a line is no such example; never with what is in it.
Result<std::unique_ptr<Dataset>> open_recsys(const DatasetSpec& spec, std::uint64_t seed,
                                             const DataCache& cache);

}  // namespace trainyard::runtime
