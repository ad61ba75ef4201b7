// What a device must offer to execute a graph: how much room each op needs, and how it runs forward
// and backward. The planner asks the first, the executor walks the nodes and hands over places in
// memory; a table for another device (its memory, its streams) is another value of this type.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/graph/op.h"
#include "runtime/math/sparse_rows.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// The rows of an embedding table that a batch reads: places[i] is the row of element i of the
// sparse features, or of the field of ids. Or, where `pooled` has examples, rows and sums of rows:
// of an example those of its elements there.
struct RowFeed {
  std::span<const std::int32_t> places;
  std::span<const float> rows;  // [rows, width]
  std::span<float> gradients;   // of them, zero before backward; empty in forward alone
  std::int64_t width = 0;
  SparseView pooled{};
};

// Of what the numbers are a function that are drawn in training.
struct Drawing {
  std::uint64_t seed = 0;
  std::uint64_t first_position = 0;
};

// A batch as the graph sees it: features, sparse features or ids; of labels, targets, token labels
// and symbols the one that the loss reads.
struct Feed {
  std::int64_t examples = 0;
  std::span<const float> features;
  std::span<const std::int32_t> labels;
  std::span<const float> targets;
  SparseView sparse{};
  std::span<const RowFeed> rows{};      // by table
  std::uint64_t seed = 0;               // of what is drawn in training
  std::uint64_t first_position = 0;     // of the first example in the endless line of examples
  const Drawing* drawing = nullptr;     // the two before, where a device reads them
  std::span<const std::int32_t> ids{};  // of each field [examples, columns]; 0 where padded
  // How long each example is, from 0 to the data set's time; empty: all are full. They are of the
  // axis [time] of ids, or of features [time, features].
  std::span<const std::int32_t> lengths{};
  std::span<const std::int32_t> token_labels{};  // [examples, time]; not read beyond the length
  // Texts, one after another: places in the alphabet, from 1. Example e's is from symbol_offsets[e]
  // to symbol_offsets[e + 1].
  std::span<const std::int32_t> symbols{};
  std::span<const std::int32_t> symbol_offsets{};  // [examples + 1]
};

// Of the feed's ids those of a field, [examples, columns].
inline std::span<const std::int32_t> ids_of(const Feed& feed, const IdField& field) {
  if (field.columns == 0) return feed.ids;
  const auto examples = static_cast<std::size_t>(feed.examples);
  const std::size_t begin = static_cast<std::size_t>(field.before) * examples;
  const std::size_t count = static_cast<std::size_t>(field.columns) * examples;
  ENSURE(begin + count <= feed.ids.size());
  return feed.ids.subspan(begin, count);
}

// Room that an op needs on this device, in elements.
struct Needs {
  std::int64_t saved = 0;    // kept from its forward to its backward pass, beside its output
  std::int64_t scratch = 0;  // while it runs, either way: of no value before and after
};

// Whether a gradient follows. Some ops compute otherwise then.
enum class Pass { train, evaluate };

struct ForwardCall {
  std::span<const ConstTensor> inputs;
  Tensor output;
  Tensor saved;
  Tensor scratch;
  const Feed& feed;
  Pass pass;
  Threads threads = {};  // of a CPU: no bit depends on how many they are
};

// No data: nobody wants it.
struct GradientTarget {
  Tensor into;
  Write write = Write::overwrite;
};

struct BackwardCall {
  std::span<const ConstTensor> inputs;
  ConstTensor output;
  ConstTensor saved;
  Tensor scratch;
  ConstTensor output_gradient;
  std::span<const GradientTarget> input_gradients;
  const Feed& feed;
  Threads threads = {};
  // If any, all wanted gradients are final but for the first so many elements of the second
  // input's: who computes that from its end on may say so.
  std::function<void(std::int64_t)> on_final_from = {};
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  // Of the largest batch, whose shapes these are, for calls that have so many threads.
  [[nodiscard]] virtual Needs needs(const Op& op, std::span<const Shape> inputs,
                                    const Shape& output, std::int64_t threads) const = 0;
  virtual void forward(const Op& op, const ForwardCall& call) const = 0;
  // Called twice for an op that has_gradients_apart, each time for some of its inputs: variables
  // first.
  virtual void backward(const Op& op, const BackwardCall& call) const = 0;
};

extern const Kernels& cpu_kernels;

}  // namespace trainyard::runtime
