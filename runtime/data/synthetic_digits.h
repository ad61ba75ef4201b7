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

// Draws all images: about 20 us each.
std::unique_ptr<Dataset> make_synthetic_digits(std::uint64_t seed, SyntheticDigitsSize size);

}  // namespace trainyard::runtime
