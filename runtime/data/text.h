// Texts with a class or a number each, in a CSV file or in folders.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a CSV file, or a folder with a folder of *.txt files for each class
// (class_folders.h). Of a CSV file the columns are named: the first line is a header then, or
// given by position: the first line is an example where both are. Labels mean what they do in
// csv.h; the test split is drawn by `seed`.
//
// A text's first spec.sequence.length tokens are taken. The vocabulary of words is that of the
// training split. A text without a token has length 1 (empty_text_id()). `invalid` of a text that
// is not UTF-8, unless tokens are bytes; of files of more than 2 GiB, or 64 MiB each in folders.
Result<std::unique_ptr<Dataset>> open_text(const DatasetSpec& spec, std::uint64_t seed,
                                           const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
