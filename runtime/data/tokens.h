// Text or token files for language models: windows of tokens, labelled with the tokens that follow.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a file, or a folder and a pattern with one * for the files in it
// ("/data/web/*.txt"), which are taken in the order of their names' bytes. Each file is cut into
// windows of spec.sequence.length tokens, one behind the other; what does not fill a window at its
// end is left out. The last spec.test_fraction of all windows are the test split.
//
// A file is bytes, or ids of 16 or 32 bits, little-endian, below spec.sequence.vocabulary: of such
// files nothing is read but the windows that are asked for, and their ids are checked then. Text
// for bpe is read whole, 1 GiB in all at the most, and is UTF-8.
Result<std::unique_ptr<Dataset>> open_tokens(const DatasetSpec& spec,
                                             const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
