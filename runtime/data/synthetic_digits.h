// A data set that needs no file: digits drawn from strokes, each with its own slant, size, place,
// thickness and noise. 28x28 like MNIST, pixels in [0, 1]. Image i of a split is a function of
// (seed, split, i).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// An image takes about 20 us to draw: one of the train split when it is first read; the test split
// as a whole, when it is prepared, once for the host.
// `invalid` where spec.train_examples or spec.test_examples are not 1 to 10,000,000, or
// spec.normalize is not of one channel.
Result<std::unique_ptr<Dataset>> open_synthetic_digits(const DatasetSpec& spec, std::uint64_t seed,
                                                       const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
