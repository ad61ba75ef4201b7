// A data set of lines of text that needs no file: four digits side by side, drawn from strokes.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

inline constexpr std::int64_t digits_of_a_line = 4;

// Images are [28, 112, 1], labels four symbols: digit d is d + 1. Line i of a split is a function
// of (seed, split, i), and is drawn each time it is read: about 80 us.
// `invalid` where spec.train_examples or spec.test_examples are not 1 to 10,000,000, or label_steps
// is known and fewer than the 7 that four equal digits need.
Result<std::unique_ptr<Dataset>> open_synthetic_lines(const DatasetSpec& spec, std::uint64_t seed,
                                                      std::int64_t label_steps = 0);

}  // namespace trainyard::runtime
