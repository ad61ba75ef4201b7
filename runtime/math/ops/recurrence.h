// Networks that walk along a sequence: an LSTM, a GRU, a plain recurrence, in one direction, over
// all examples of a batch at a time. The bits of an example depend neither on the others nor on
// how much padding follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// With x W + b for the input's part of a step and h U for that of the state:
//   lstm      gates i f g o of x W + b + h U; c = f c + i g, h = o tanh(c)
//   gru       gates r z n; n = tanh(x Wn + bn + r (h Un + recurrent bias)), h = (1 - z) n + z h
//   rnn_tanh, rnn_relu  h = f(x W + b + h U)
// where i, f, o, r and z are sigmoids and g is a tanh: PyTorch's, with one bias for two.
enum class RecurrentCell { lstm, gru, rnn_tanh, rnn_relu };
// Kernels are so many times `units` wide.
constexpr std::int64_t gates_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::lstm: return 4;
    case RecurrentCell::gru: return 3;
    case RecurrentCell::rnn_tanh:
    case RecurrentCell::rnn_relu: break;
  }
  return 1;
}

enum class TimeOrder { forward, backward };

struct Recurrence {
  RecurrentCell cell = RecurrentCell::lstm;
  TimeOrder order = TimeOrder::forward;
  // [examples, time, units]: every state, of step t at t; or [examples, units]: that of the step
  // that comes last, which is step 0 where time goes backward.
  enum class Output { all, last } output = Output::last;
};

// Biases without data are none.
struct RecurrentParameters {
  ConstTensor kernel;            // [in, gates * units]
  ConstTensor recurrent_kernel;  // [units, gates * units]
  ConstTensor bias;              // [gates * units]
  ConstTensor recurrent_bias;    // [units], of a gru
};

struct RecurrentSizes {
  std::int64_t examples = 0;
  std::int64_t time = 0;
  std::int64_t in = 0;
  std::int64_t units = 0;
};
std::size_t recurrence_saved_bytes(RecurrentCell cell, const RecurrentSizes& sizes);
std::size_t recurrence_scratch_bytes(RecurrentCell cell, const RecurrentSizes& sizes,
                                     std::int64_t threads = 1);

struct RecurrenceForward {
  Recurrence kind;
  ConstTensor x;  // [examples, time, in]
  RecurrentParameters parameters;
  // 0 .. time of each example, or none where all are full. Beyond its length an example has states
  // of zero; backward in time it starts there.
  std::span<const std::int32_t> lengths;
  std::span<std::byte> saved;    // for the gradient; at a cache line's border, as scratch
  std::span<std::byte> scratch;  // apart from it
  Tensor output;
  Threads threads = {};  // walk with some examples each
};
void recurrence(const RecurrenceForward& call);

// No data: nobody wants it.
struct RecurrentGradient {
  Tensor into;
  Write write = Write::overwrite;
};

struct RecurrenceBackward {
  Recurrence kind;
  ConstTensor x;
  RecurrentParameters parameters;
  std::span<const std::int32_t> lengths;
  std::span<const std::byte> saved;
  std::span<std::byte> scratch;
  ConstTensor output_gradient;
  RecurrentGradient x_gradient;
  RecurrentGradient kernel_gradient;
  RecurrentGradient recurrent_kernel_gradient;
  RecurrentGradient bias_gradient;
  RecurrentGradient recurrent_bias_gradient;
  Threads threads = {};
};
void recurrence_gradient(const RecurrenceBackward& call);

}  // namespace trainyard::runtime
