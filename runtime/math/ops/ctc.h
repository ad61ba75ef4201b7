// Connectionist temporal classification (Graves and others 2006): the probability of a text under
// all ways to spread it over time, and how a network's most likely text differs from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// What is read of a batch.
struct CtcBatch {
  ConstTensor scores;                     // [examples, time, classes], without softmax
  std::span<const std::int32_t> lengths;  // [examples]; none: all examples are full
  // Places in the alphabet, from 1: the classes without the blank, in their order.
  std::span<const std::int32_t> symbols;
  std::span<const std::int32_t> offsets;  // [examples + 1]: example e has from offsets[e] on
  std::int64_t blank = 0;                 // which of the classes it is
};

struct CtcLoss {
  bool divides_by_label = false;  // by the text's length, or 1 where it is empty
  // Of a text that does not fit, with a blank between equal symbols: 0, else infinity. Its gradient
  // is zero.
  bool skips_impossible = false;
};

std::size_t ctc_scratch_bytes(std::int64_t time, std::int64_t classes);

// losses [examples] = -log of the text's probability, in double up to the last step. gradients:
// of the scores' shape, receives that of each loss (softmax - occupancy); no data: not wanted.
// `scratch` begins at a cache line's border.
void ctc(const CtcBatch& batch, const CtcLoss& kind, Tensor losses, Tensor gradients,
         std::span<std::byte> scratch);

// scores_gradient = losses_gradient [examples] * gradients
void ctc_gradient(ConstTensor gradients, ConstTensor losses_gradient, Tensor scores_gradient,
                  Write write);

std::size_t ctc_decode_scratch_bytes(std::int64_t time);

// The class of the largest score at each step (the first, of equal ones), without repetitions and
// blanks, against the text.
// distances [examples] = how many symbols have to be put in, taken out or changed.
void edit_distances(const CtcBatch& batch, Tensor distances, std::span<std::byte> scratch);
// matches [examples] = 1 where it is the text, else 0.
void match_sequences(const CtcBatch& batch, Tensor matches, std::span<std::byte> scratch);

}  // namespace trainyard::runtime
