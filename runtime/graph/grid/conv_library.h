// What a library of the GPU's maker is asked for where a host has one (cuDNN): convolutions of
// images and their two gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/math/ops/conv.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// Whether a pass reads and gives bfloat16. A kernel's gradient is of float32 in bfloat16, too: it
// is added to those of other micro-batches, and rounded the sum would lose what makes it exact.
inline bool are_rounded(Precision precision, ConvPass pass) {
  return precision == Precision::bfloat16 && pass != ConvPass::kernel_gradient;
}

// Images as everywhere, [examples, height, width, channels]; the kernel [filters, kernel height,
// kernel width, channels]: of bfloat16 or of float32. What the pass computes is written.
struct LibraryImages {
  void* x = nullptr;
  void* kernel = nullptr;
  void* y = nullptr;
};

struct LibraryConv {
  Conv2d conv;
  std::int64_t examples = 1;
  ConvPass pass = ConvPass::forward;
};

// A library pads as much behind an image as before it: where that makes as many outputs, they are
// the same ones.
inline bool is_padded_alike(const WindowAxis& axis) {
  WindowAxis alike = axis;
  alike.after = axis.before;
  return alike.outputs() == axis.outputs();
}

// Tensor cores read eight channels at once; of smaller ones most is the start of a kernel.
inline bool is_worth_a_library(const Conv2d& conv, std::int64_t examples) {
  constexpr double multiplications_least = 1 << 27;
  const double all = static_cast<double>(examples * conv.window.outputs()) *
                     static_cast<double>(conv.depth()) * static_cast<double>(conv.filters);
  return conv.channels % 8 == 0 && conv.filters % 8 == 0 && all >= multiplications_least;
}

// What a library says of an algorithm that it proposes, the fastest first.
struct ProposedAlgorithm {
  bool is_possible = false;
  bool is_deterministic = false;
  bool is_by_tensor_cores = false;
  std::size_t workspace_bytes = 0;
};

// The first that is all of it and has room; none: our own kernels have to do.
inline std::optional<std::size_t> choose_algorithm(std::span<const ProposedAlgorithm> proposed,
                                                   std::size_t workspace_bytes) {
  for (std::size_t i = 0; i < proposed.size(); ++i) {
    const ProposedAlgorithm& one = proposed[i];
    const bool is_sound = one.is_possible && one.is_deterministic && one.is_by_tensor_cores;
    if (is_sound && one.workspace_bytes <= workspace_bytes) return i;
  }
  return std::nullopt;
}

// Libraries count the elements of an image in 32 bits.
inline bool is_countable_by_library(const Conv2d& conv, std::int64_t examples) {
  constexpr std::int64_t elements_max = std::int64_t{1} << 31;
  return examples * conv.window.pixels() * conv.channels < elements_max &&
         examples * conv.window.outputs() * conv.filters < elements_max;
}

class ConvLibrary {
 public:
  ConvLibrary() = default;
  virtual ~ConvLibrary() = default;
  ConvLibrary(const ConvLibrary&) = delete;
  ConvLibrary& operator=(const ConvLibrary&) = delete;

  // Whether such convolutions are for it at all: for those the plan has room for its images.
  [[nodiscard]] virtual bool is_for(const Conv2d& conv, std::int64_t examples) const = 0;
  // Whether it computes such a pass, always in the same way.
  virtual bool takes(const LibraryConv& of) = 0;
  // One that it takes, in the order of what the device is asked for; images at borders of 16 bytes.
  virtual void convolve(const LibraryConv& of, const LibraryImages& images, Write write) = 0;
};

}  // namespace trainyard::runtime
