// A data set that needs no file: digits drawn from strokes, each with its own slant, size, place,
// thickness and noise. 28x28 like MNIST, pixels in [0, 1]. Image i of a split is a function of
// (seed, split, i).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

struct SyntheticDigitsSize {
  std::int64_t train_examples = 0;
  std::int64_t test_examples = 0;
};

// An image takes about 20 us to draw: one of the train split when it is first read; the test split
// as a whole, when it is prepared, once for the host.
std::unique_ptr<Dataset> make_synthetic_digits(std::uint64_t seed, SyntheticDigitsSize size,
                                               const DataCache& cache = DataCache());

}  // namespace trainyard::runtime
