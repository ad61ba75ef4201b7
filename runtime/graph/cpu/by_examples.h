// Ops of which each example is computed by itself: threads divide the batch, and each calls the
// op's kernel on its examples. (Other ops have kernels that divide their work, or one thread.)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// Nanoseconds of one core for a number of the largest tensor that the op reads or writes, roughly.
// An op with one is divided: of all its tensors the first axis is that of the examples, and so it
// is of what it saves; of the feed it reads no rows, and no sparse features.
double element_nanoseconds(const ActivationOp& op);
inline double element_nanoseconds(const AffineOp&) { return 0.2; }
inline double element_nanoseconds(const ClipOp&) { return 0.2; }
inline double element_nanoseconds(const AddOp&) { return 0.3; }
inline double element_nanoseconds(const BinaryOp&) { return 0.4; }
inline double element_nanoseconds(const DropoutOp&) { return 0.7; }
inline double element_nanoseconds(const ReshapeOp&) { return 0.2; }
inline double element_nanoseconds(const TransposeOp&) { return 0.7; }
inline double element_nanoseconds(const ConcatOp&) { return 0.3; }
inline double element_nanoseconds(const SliceOp&) { return 0.3; }
inline double element_nanoseconds(const PadOp&) { return 0.3; }
inline double element_nanoseconds(const ReduceOp&) { return 0.4; }
inline double element_nanoseconds(const SoftmaxOp&) { return 0.8; }
inline double element_nanoseconds(const LogSoftmaxOp&) { return 0.8; }
inline double element_nanoseconds(const L2NormalizeOp&) { return 0.4; }
inline double element_nanoseconds(const FactorizeOp&) { return 0.4; }
inline double element_nanoseconds(const PairwiseDotOp&) { return 2; }
inline double element_nanoseconds(const AvgPool2dOp&) { return 0.5; }
inline double element_nanoseconds(const GlobalAvgPoolOp&) { return 0.3; }
inline double element_nanoseconds(const SoftmaxCrossEntropyOp&) { return 1; }
inline double element_nanoseconds(const TokenCrossEntropyOp&) { return 1; }
inline double element_nanoseconds(const CtcOp&) { return 20; }
inline double element_nanoseconds(const MatchLabelsOp&) { return 1; }
inline double element_nanoseconds(const TopKOp&) { return 1; }

template <class Kind>
concept DividedByExamples = requires(const Kind& kind) {
  element_nanoseconds(kind);
};

inline constexpr std::size_t divided_inputs_max = 16;

// Some examples of a batch.
template <class T>
View<T> examples_in(const View<T>& batch, const Part& part) {
  if (batch.data == nullptr) return batch;
  Shape shape{part.count()};
  for (const std::int64_t size : batch.shape.sizes().subspan(1)) shape.append(size);
  return {batch.data + part.begin * (batch.elements() / batch.shape[0]), shape};
}

// The shapes of a call's inputs.
class InputShapes {
 public:
  explicit InputShapes(std::span<const ConstTensor> inputs);
  [[nodiscard]] std::span<const Shape> all() const { return std::span(shapes_).first(count_); }

 private:
  std::array<Shape, divided_inputs_max> shapes_;
  std::size_t count_;
};

// The examples of a call, if they can be divided, or one that is not to be.
Items examples_of(const ForwardCall& call, double element_nanoseconds);
Items examples_of(const BackwardCall& call, double element_nanoseconds);

// Some examples of a call, as a call of its own that refers to this. `saved` is how much the whole
// one saves.
class ForwardPart {
 public:
  ForwardPart(const ForwardCall& whole, const Part& part, std::int64_t saved);
  ForwardPart(const ForwardPart&) = delete;
  ForwardPart& operator=(const ForwardPart&) = delete;
  [[nodiscard]] ForwardCall call() const;

 private:
  const ForwardCall& whole_;
  Part part_;
  Feed feed_;
  std::array<ConstTensor, divided_inputs_max> inputs_;
  Tensor saved_;
};

class BackwardPart {
 public:
  BackwardPart(const BackwardCall& whole, const Part& part, std::int64_t saved);
  BackwardPart(const BackwardPart&) = delete;
  BackwardPart& operator=(const BackwardPart&) = delete;
  [[nodiscard]] BackwardCall call() const;

 private:
  const BackwardCall& whole_;
  Part part_;
  Feed feed_;
  std::array<ConstTensor, divided_inputs_max> inputs_;
  std::array<GradientTarget, divided_inputs_max> targets_;
  ConstTensor saved_;
};

// Scratch of an op for all threads, of which one needs so much for the whole batch, and so much for
// half of it, which is what it gets at most if there is another.
std::int64_t divided_scratch(std::int64_t whole, std::int64_t half, std::int64_t threads);
Shape half_of(const Shape& batch);

}  // namespace trainyard::runtime
