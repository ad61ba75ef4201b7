// Series of numbers over time with a class or a number each.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a file with an example in each line, CSV or, where its name ends in .json, .jsonl or
// .ndjson, JSON:
//   CSV: the spec.features numbers of the first time step, those of the second, and so on, and the
//   label, which is the last column or that at spec.label_column; empty cells behind the last time
//   step are passed over. A first line without any number is a header.
//   JSON: {"features": [[numbers of the first time step], ...], "label": a number or a name}; a
//   list of numbers where spec.features is 1.
// Labels mean what they do in csv.h; the test split is drawn by `seed`. Examples have
// spec.sequence.length time steps, or as many as the longest where that is 0; one that has more is
// `invalid`, shorter ones are padded with zeros.
Result<std::unique_ptr<Dataset>> open_sequences(const DatasetSpec& spec, std::uint64_t seed,
                                                const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
